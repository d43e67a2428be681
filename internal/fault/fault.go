// Package fault describes failures of a request that its sender can act on. It owns the kinds and
// the form of such a failure; package wire maps a kind to an HTTP status.
//
// Every other error is internal: shown as such, logged once.
package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Kind is the sort of a failure.
type Kind int

// The kinds of faults.
const (
	Invalid       Kind = iota + 1 // the request cannot be understood
	Unknown                       // no credentials, or wrong ones
	Forbidden                     // the sender is known, but not allowed
	Missing                       // the named thing does not exist for the sender
	Conflict                      // the current state does not allow it
	TooLarge                      // the body is too large
	Unsupported                   // the body's content type is not supported
	Unprocessable                 // understood, but not acceptable
	Throttled                     // too many requests of this sender; see Error.After
	Busy                          // too many requests of all senders; see Error.After
)

// Error is a failure that its sender can act on. Text is for display: it states the problem and, if
// known, the next step.
type Error struct {
	Kind   Kind
	Code   string        // stable, for programs
	Field  string        // the parameter or member at fault, if any
	Text   string        // a sentence for people
	Cause  string        // the cause, if one code has several; stable, for programs
	After  time.Duration // time to wait, for Throttled and Busy
	Checks []Check       // steps before the rejection
}

// Check is one step before a request was rejected or done. Only a step that is neither OK nor a
// Warning is a reason to reject.
type Check struct {
	URL     string
	Step    string      // action of the step
	OK      bool        // as expected
	Warning bool        // worth a look, but no reason to reject
	Text    string      // result in words
	Likely  []string    // likely mistakes and their fixes, the likeliest first
	Sent    string      // request line, headers and body
	Signed  []Signature // signed texts of its signatures
	Answer  string      // status, headers and body, truncated; "" without an answer
}

// Signature is the text that a header's signature was made of.
type Signature struct {
	Header string
	Text   string
}

// New returns a fault; text is a format for args.
func New(kind Kind, code, text string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Text: fmt.Sprintf(text, args...)}
}

// Parameter returns the fault of a query parameter that is out of bounds.
func Parameter(name, text string, args ...any) *Error {
	return New(Invalid, CodeInvalidParameter, name+" "+text, args...).On(name)
}

// Field returns the fault of a body member with an unacceptable value.
func Field(name, text string, args ...any) *Error {
	return New(Unprocessable, codeInvalidField, name+" "+text, args...).On(name)
}

// On sets the parameter or member at fault.
func (e *Error) On(field string) *Error {
	e.Field = field
	return e
}

// Because sets the cause, for a code with several.
func (e *Error) Because(cause string) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// Logged is a fault in the log line of a request. Logs get only its code, because the text may
// quote the request; a handler that shows lines only to the sender may use the text.
type Logged struct{ *Error }

// LogValue returns the code.
func (l Logged) LogValue() slog.Value { return slog.StringValue(l.Code) }

// Of returns the fault in err's chain, or nil for an internal error.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// Is reports whether err is a fault with this code.
func Is(err error, code string) bool {
	e := Of(err)
	return e != nil && e.Code == code
}
