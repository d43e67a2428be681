package wire

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/fault"
)

// StatusGone is the recorded status of a request whose client went away. It is never sent.
const StatusGone = 499

// statuses is the only mapping of fault kinds to HTTP statuses.
var statuses = map[fault.Kind]int{
	fault.Invalid:       http.StatusBadRequest,
	fault.Unknown:       http.StatusUnauthorized,
	fault.Forbidden:     http.StatusForbidden,
	fault.Missing:       http.StatusNotFound,
	fault.Conflict:      http.StatusConflict,
	fault.TooLarge:      http.StatusRequestEntityTooLarge,
	fault.Unsupported:   http.StatusUnsupportedMediaType,
	fault.Unprocessable: http.StatusUnprocessableEntity,
	fault.Throttled:     http.StatusTooManyRequests,
	fault.Busy:          http.StatusServiceUnavailable,
}

// Status returns the HTTP status of a kind of fault.
func Status(kind fault.Kind) int {
	if s, ok := statuses[kind]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// problem is the error body.
type problem struct {
	Error     string  `json:"error"`
	Message   string  `json:"message"`
	RequestID string  `json:"request_id"`
	Field     string  `json:"field,omitempty"`
	Checks    []Check `json:"checks,omitempty"`
}

// Check is a step of a transcript on the wire.
type Check struct {
	URL     string      `json:"url"`
	Step    string      `json:"step"`
	OK      bool        `json:"ok"`
	Warning bool        `json:"warning"`
	Text    string      `json:"text"`
	Likely  []string    `json:"likely,omitempty"`
	Sent    string      `json:"sent"`
	Signed  []Signature `json:"signed,omitempty"`
	Answer  string      `json:"answer"`
}

// Signature has the inputs of a header's signature, on the wire.
type Signature struct {
	Header string `json:"header"`
	Text   string `json:"text"`
}

// Checks converts a transcript to its wire form.
func Checks(steps []fault.Check) []Check {
	out := make([]Check, len(steps))
	for i, c := range steps {
		out[i] = Check{
			c.URL,
			c.Step,
			c.OK,
			c.Warning,
			c.Text,
			c.Likely,
			c.Sent,
			make([]Signature, len(c.Signed)),
			c.Answer,
		}
		for k, s := range c.Signed {
			out[i].Signed[k] = Signature(s)
		}
	}
	return out
}

// Fail answers err and records it in the request log. A fault is shown. Any other error is shown as
// an internal error with the request id only. A timeout, or a request cut off by a stop, is 503:
// try again.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	note := RequestLogOf(r.Context())
	note.Err = err
	if _, broken := errors.AsType[*sendError](err); broken || errors.Is(r.Context().Err(), context.Canceled) {
		note.Gone = true
	}
	if sent, ok := w.(interface{ Written() bool }); ok && sent.Written() {
		return
	}
	if note.Gone {
		w.WriteHeader(StatusGone)
		return
	}
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) && fault.Of(err) == nil {
		// Whichever error the handler returned, the deadline was the cause.
		err = context.DeadlineExceeded
	}
	status, p := problemOf(w.Header(), err)
	p.RequestID = note.ID
	_ = JSON(w, status, p) // encoding cannot fail
}

// Problem returns the status and the body with which Fail answers an error, for an answer with
// several of them. An error that is no fault is recorded in the request log.
func Problem(r *http.Request, err error) (status int, body any) {
	note := RequestLogOf(r.Context())
	if fault.Of(err) == nil {
		note.Err = err
	}
	status, p := problemOf(http.Header{}, err)
	p.RequestID = note.ID
	return status, p
}

// problemOf chooses status, headers and body of an error.
func problemOf(h http.Header, err error) (int, problem) {
	if f := fault.Of(err); f != nil {
		if f.Kind == fault.Unknown {
			h.Set("WWW-Authenticate", "Bearer")
		}
		if f.Kind == fault.Throttled || f.Kind == fault.Busy {
			h.Set("Retry-After", seconds(max(f.After, time.Second)))
		}
		return Status(f.Kind), problem{Error: f.Code, Message: f.Text, Field: f.Field, Checks: Checks(f.Checks)}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || unavailable(err) {
		h.Set("Retry-After", "2")
		p := unavailableError
		p.Message = cmp.Or(Sentence(err), p.Message)
		return http.StatusServiceUnavailable, p
	}
	return http.StatusInternalServerError, internalError
}

// Answers to errors that are not the sender's fault.
var (
	unavailableError = problem{
		Error:   "unavailable",
		Message: "The service could not answer in time. Try again in a moment.",
	}
	internalError = problem{
		Error:   "internal_error",
		Message: "Something went wrong on our side. Try again; if it lasts, report the request id.",
	}
)

// unavailable reports whether err means a temporary outage, such as of the database.
func unavailable(err error) bool {
	away, ok := errors.AsType[interface {
		error
		Unavailable() bool
	}](err)
	return ok && away.Unavailable()
}

// Sentence returns the reason of an outage that people should know, such as a full disk, or "".
func Sentence(err error) string {
	if away, ok := errors.AsType[interface {
		error
		Sentence() string
	}](err); ok {
		return away.Sentence()
	}
	return ""
}

// seconds rounds d up to whole seconds, the unit of the headers.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
