package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"claviger/internal/fault"
)

// RequestLog collects facts about a request, which are written as one line at its end. It belongs
// to the goroutine that serves the request.
type RequestLog struct {
	ID     string // the request id, answered as X-Request-Id and in error bodies
	Client string // the address of the client, behind declared proxies
	Route  string // address of the client, behind declared proxies
	Secret bool   // the matching path pattern; "": none
	Who    string // the path contains a secret: log the pattern instead
	Err    error  // the authenticated caller, such as "partner:3"
	Gone   bool   // why the request failed; includes faults of the sender
	Stream bool   // the answer is a stream: it lasts as long as its page is open

	Partner   int64  // the authenticated partner; 0: none
	Named     int64  // the partner named without proof, such as by its client id
	License   string // the license key in the path
	LicenseID int64  // id of the license of a code or token
}

// Refusal returns the answered code and text of a request that failed with that status, and the
// cause behind the code.
func (n *RequestLog) Refusal(status int) (code, text, cause string) {
	if f := fault.Of(n.Err); f != nil {
		return f.Code, f.Text, f.Cause
	}
	p := internalError
	if status == http.StatusServiceUnavailable {
		p = unavailableError
	}
	return p.Error, cmp.Or(Sentence(n.Err), p.Message), ""
}

type noteKey struct{}

// Begin adds a new request log to the context. httpd calls it once per request; a mux served
// without httpd, as in tests, calls it itself.
func Begin(ctx context.Context, id, client string) (context.Context, *RequestLog) {
	n := &RequestLog{ID: id, Client: client}
	return context.WithValue(ctx, noteKey{}, n), n
}

// RequestLogOf returns the log of the request that ctx belongs to. Outside a request it returns an
// empty one, never nil.
func RequestLogOf(ctx context.Context) *RequestLog {
	if n, ok := ctx.Value(noteKey{}).(*RequestLog); ok {
		return n
	}
	return &RequestLog{}
}

type unboundedKey struct{}

// Bound sets a deadline for the work of a request.
func Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, unboundedKey{}, ctx), d)
}

// Unbounded returns the context of the request without the deadline of Bound, for answers that last
// as long as the client stays. It ends when the client leaves.
func Unbounded(ctx context.Context) context.Context {
	if whole, ok := ctx.Value(unboundedKey{}).(context.Context); ok {
		return whole
	}
	return ctx
}

// NewRequestID makes a request id: req_ and 26 random lower-case letters and digits.
func NewRequestID() string { return "req_" + strings.ToLower(rand.Text()) }
