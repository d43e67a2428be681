package area

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/ui"
)

// Seen is the state of a thing that a page showed when its form was built. The form carries it, and
// the act is refused if the state has changed, so that two people do not undo each other's work.
//
// An act with a page of its own has it in Action.Seen. A form on another page carries Param in a
// hidden field, and its act calls Unchanged with the state as it is then.
//
// The thing can still change between this check and the act. If the domain accepts an expected
// state, pass it, too.
type Seen struct {
	Version string // changes with the thing: a time, a number, the id of its last event
	Facts   []Fact // values to compare and list in a refusal
}

// Fact is one thing that the page showed.
type Fact struct{ Name, Value string }

// seenField is the hidden field.
const seenField = "seen"

// maxTold is the length at which a value is cut in a message.
const maxTold = 200

// Param returns the hidden field of the form.
func (s Seen) Param() ui.Param {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return ui.Param{Name: seenField, Value: base64.RawURLEncoding.EncodeToString(text)}
}

// Unchanged refuses a form that was built from another state than s, and lists the changes. A form
// without a state is refused, too.
func (s Seen) Unchanged(r *http.Request) error {
	var was Seen
	text, err := base64.RawURLEncoding.DecodeString(r.PostFormValue(seenField))
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil || was.Version == "" {
		return fault.New(
			fault.Invalid,
			CodeIncompleteForm,
			"The form was not sent whole. Nothing was changed. Look at this page as it is now and send it again.",
		)
	}
	changes := s.since(was)
	if was.Version == s.Version && len(changes) == 0 {
		return nil
	}
	if len(changes) == 0 {
		changes = []string{"It was changed, and what this page shows of it is the same again."}
	}
	return fault.New(
		fault.Conflict,
		CodeChangedSince,
		"This has changed since the page was shown, so nothing was done. %s Look at it as it is now, and send the "+
			"form again if you still want to.",
		strings.Join(changes, " "),
	)
}

// since lists the facts that changed, appeared or disappeared.
func (s Seen) since(was Seen) []string {
	old := make(map[string]string, len(was.Facts))
	for _, f := range was.Facts {
		old[f.Name] = f.Value
	}
	var list []string
	for _, f := range s.Facts {
		switch before, known := old[f.Name]; {
		case !known:
			list = append(list, fmt.Sprintf("%s is new: %s.", f.Name, told(f.Value)))
		case before != f.Value:
			list = append(list, fmt.Sprintf("%s was %s and is now %s.", f.Name, told(before), told(f.Value)))
		}
		delete(old, f.Name)
	}
	for _, f := range was.Facts {
		if before, left := old[f.Name]; left {
			list = append(list, fmt.Sprintf("%s was %s and is there no more.", f.Name, told(before)))
		}
	}
	return list
}

// told quotes a value for a sentence.
func told(value string) string {
	if value == "" {
		return "empty"
	}
	if runes := []rune(value); len(runes) > maxTold {
		value = string(runes[:maxTold]) + "…"
	}
	return "“" + value + "”"
}
