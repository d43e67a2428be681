package ui

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"claviger/internal/fault"
)

// MaxForm is the maximum size of a form's body in bytes.
const MaxForm = 64 << 10

// Field is one input of a form, for the part "field".
type Field struct {
	Name         string
	Label        string
	Type         string   // input type: text, email, password, …, or select, textarea, checkbox; "" is text
	Value        string   // not shown for a password; for a checkbox the value that it sends
	Said         string   // the value in words, for a list of active filters; "" is the value
	Options      []Option // of a select
	Rows         int      // of a textarea; 0 is 4
	Checked      bool     // of a checkbox
	Hint         string
	Error        string
	Autocomplete string // such as username, current-password, new-password
	Required     bool
	Autofocus    bool
}

// Option is one choice of a select.
type Option struct{ Value, Label string }

// Form has a form's fields and their errors, for the part "summary".
type Form struct {
	Problem string // error that belongs to no field
	Next    string // page after success; "" is the default
	Fields  []Field
}

// Field returns the field with a name. An unknown name is an error of the template.
func (f Form) Field(name string) (Field, error) {
	for _, field := range f.Fields {
		if field.Name == name {
			return field, nil
		}
	}
	return Field{}, fmt.Errorf("the form has no field %s", name)
}

// Failed reports whether the form has an error.
func (f Form) Failed() bool {
	for _, field := range f.Fields {
		if field.Error != "" {
			return true
		}
	}
	return f.Problem != ""
}

// Refuse shows a fault at the field that it names, or above the form. It reports whether err was a
// fault: people cannot correct any other error.
func (f *Form) Refuse(err error) bool {
	e := fault.Of(err)
	if e == nil {
		return false
	}
	for i, field := range f.Fields {
		if e.Field != "" && field.Name == e.Field {
			f.Fields[i].Error = e.Text
			// Faults name the member of a request and say "send". In forms we use its label and
			// "write".
			if rest, ok := strings.CutPrefix(e.Text, e.Field+" "); ok {
				f.Fields[i].Error = field.Label + " " + forPeople.Replace(rest)
			}
			return true
		}
	}
	f.Problem = e.Text
	return true
}

// forPeople rewrites the text of a fault for a form.
var forPeople = strings.NewReplacer(
	"is missing or empty; send 1 to ",
	"is missing. Write up to ",
	"is missing or empty; send ",
	"is missing. Write ",
	"; send ",
	"; write ",
)

// WithError returns the form with an error at a field.
func (f Form) WithError(name, text string) Form {
	f.Fields = slices.Clone(f.Fields)
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			f.Fields[i].Error = text
		}
	}
	return f
}

// WithProblem returns the form with an error that belongs to no field.
func (f Form) WithProblem(text string) Form {
	f.Problem = text
	return f
}

// ReadForm parses the form of a POST. MaxForm already limits its body.
func ReadForm(r *http.Request) error {
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.New(
			fault.TooLarge,
			codeFormTooLarge,
			"The form is too large. Shorten what you typed and send it again.",
		)
	}
	if err != nil {
		return fault.New(fault.Invalid, codeInvalidForm, "The form could not be read. Go back and send it again.")
	}
	return nil
}

// MaxUpload is the maximum size of a form with a file, in bytes. It exceeds every accepted file, so
// that the error for a file that is too large can state its size.
const MaxUpload = 4 << 20

// ReadUpload parses a form with a file and returns the file of a field, nil if none was chosen.
// MaxUpload already limits its body. Nothing is written to disk.
func ReadUpload(r *http.Request, name string) ([]byte, error) {
	err := r.ParseMultipartForm(MaxUpload)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return nil, fault.New(
			fault.TooLarge,
			codeFormTooLarge,
			"The file is too large. Choose a smaller one and send it again.",
		)
	case errors.Is(err, http.ErrNotMultipart): // a form without a file is accepted too
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.Invalid, codeInvalidForm, "The form could not be read. Go back and send it again.")
	}
	file, _, err := r.FormFile(name)
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the file of a form: %w", err)
	}
	defer func() { _ = file.Close() }() // in memory
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read the file of a form: %w", err)
	}
	return data, nil
}

// FormText returns the text of a field, without surrounding white space.
func FormText(r *http.Request, name string) string {
	return strings.TrimSpace(r.PostFormValue(name))
}
