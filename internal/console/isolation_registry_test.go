package console_test

import (
	"net/url"

	"claviger/internal/area/areatest"
)

// known says whether an id that a test asks for exists.
type known bool

// The values of known.
const (
	exists  known = true
	missing known = false
)

// none is the id of things that do not exist.
const none = "987654321"

// registry fills the rows of the table: placeholders with something that exists, and,
// for missing, with a value of the same form that does not; forms and queries likewise.
// Who adds a route with a new placeholder, or an act, adds it here, by an init in a file
// of the section; the isolation test fails without it.
var registry = areatest.Registry[*harness, known]{
	Placeholders: map[string]func(*harness, known) string{},
	Forms:        map[string]func(*harness, known) url.Values{},
	Queries:      map[string]func(*harness, known) url.Values{},
	Leads:        map[string]string{"/partners/{partner}/support": "/portal/1"},
}

// form is a form of fixed names and values in turn.
func form(pairs ...string) func(*harness, known) url.Values {
	return func(*harness, known) url.Values {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values
	}
}
