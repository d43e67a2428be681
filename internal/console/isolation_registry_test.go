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

// registry fills the rows of the table: placeholders with something that exists or, for missing,
// with a value of the same form that does not; forms and queries likewise. A route with a new
// placeholder, or an act, needs an entry, added by an init in a file of the section; without it the
// isolation test fails.
var registry = areatest.Registry[*harness, known]{
	Placeholders: map[string]func(*harness, known) string{},
	Forms:        map[string]func(*harness, known) url.Values{},
	Queries:      map[string]func(*harness, known) url.Values{},
	Leads:        map[string]string{"/partners/{partner}/support": "/portal/1"},
}

// form returns a form of alternating names and values.
func form(pairs ...string) func(*harness, known) url.Values {
	return func(*harness, known) url.Values {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values
	}
}
