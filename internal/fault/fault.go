// Package fault describes how a request can fail in a way that its sender can act on.
// It owns the kinds and the form of such a failure; package wire maps a kind to an HTTP
// status.
//
// Every other error is an internal one: shown as such, logged once.
package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Kind says what sort of failure a fault is.
type Kind int

// The kinds of faults.
const (
	Invalid       Kind = iota + 1 // the request cannot be understood
	Unknown                       // the sender is not known: no credentials, or wrong ones
	Forbidden                     // the sender is known and may not
	Missing                       // what the request names does not exist for its sender
	Conflict                      // the present state does not allow it
	TooLarge                      // the body is larger than is read
	Unsupported                   // the body's content type is not read
	Unprocessable                 // understood, and not acceptable as it stands
	Throttled                     // too many requests of this sender; see Error.After
	Busy                          // too many requests of all senders; see Error.After
)

// Error is a failure that its sender can act on. Text is made for showing: it
// says what was wrong and, where we know it, what to do next.
type Error struct {
	Kind   Kind
	Code   string        // stable, for programs
	Field  string        // the parameter or member at fault, if it is one
	Text   string        // a sentence for people
	Cause  string        // where one code has several causes: which it was; stable, for programs
	After  time.Duration // for Throttled and Busy: when to try again
	Checks []Check       // what was tried before the refusal, step by step
}

// Check is one step of what was tried before a request was refused or done. Only
// a step that is neither OK nor a Warning is a reason to refuse.
type Check struct {
	URL     string
	Step    string      // what was done
	OK      bool        // it went as it must
	Warning bool        // worth a look, but no reason to refuse
	Text    string      // what came of it, in words
	Likely  []string    // likely mistakes and what to do about them, the likeliest first
	Sent    string      // request line, headers and body
	Signed  []Signature // what the signatures in it were made of
	Answer  string      // status, headers and body, cut to size; "" when none came
}

// Signature says of which text a header's signature was made.
type Signature struct {
	Header string
	Text   string
}

// New makes a fault; text is a format for args.
func New(kind Kind, code, text string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Text: fmt.Sprintf(text, args...)}
}

// Parameter is the fault of a query parameter that is out of bounds.
func Parameter(name, text string, args ...any) *Error {
	return New(Invalid, CodeInvalidParameter, name+" "+text, args...).On(name)
}

// Field is the fault of a body member whose value is not acceptable.
func Field(name, text string, args ...any) *Error {
	return New(Unprocessable, codeInvalidField, name+" "+text, args...).On(name)
}

// On names the parameter or member at fault.
func (e *Error) On(field string) *Error {
	e.Field = field
	return e
}

// Because names the cause, where one code has several.
func (e *Error) Because(cause string) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// Logged is a fault in the line of a request. Logs get its code only, since the text may
// quote what was sent; a handler that shows lines to the sender alone may use the text.
type Logged struct{ *Error }

// LogValue is the code.
func (l Logged) LogValue() slog.Value { return slog.StringValue(l.Code) }

// Of returns the fault in err's chain, or nil when err is an internal error.
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
