package wire

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"claviger/internal/fault"
)

// RequestLog is what is learnt of a request while it runs and written out once at its
// end, as one line. It belongs to the goroutine that serves the request.
type RequestLog struct {
	ID     string // the request id, answered as X-Request-Id and in error bodies
	Client string // the address of the client, behind declared proxies
	Route  string // the path pattern that matched, "" when none did
	Secret bool   // the path itself would tell a secret: the pattern is shown in its place
	Who    string // who was authenticated, such as "partner:3"
	Err    error  // why the request failed inside; faults of the sender are here too
	Gone   bool   // the client went away before it was answered
	Stream bool   // the answer is a stream: it lasts as long as its page is open

	Partner   int64  // the partner that was authenticated; 0: none
	Named     int64  // the partner that a request names without proof, such as by its client id
	License   string // the key of the license that the path names
	LicenseID int64  // the number of the license that a code or token is for
}

// Refusal is what the answer says of a request that failed with that status, and which
// of several causes the code stands for.
func (n *RequestLog) Refusal(status int) (code, text, cause string) {
	if f := fault.Of(n.Err); f != nil {
		return f.Code, f.Text, f.Cause
	}
	p := internalError
	if status == http.StatusServiceUnavailable {
		p = unavailableError
	}
	return p.Error, p.Message, ""
}

type noteKey struct{}

// Begin puts a new note into the context. httpd calls it once per request; a
// mux that is served without httpd, as in tests, does so itself.
func Begin(ctx context.Context, id, client string) (context.Context, *RequestLog) {
	n := &RequestLog{ID: id, Client: client}
	return context.WithValue(ctx, noteKey{}, n), n
}

// RequestLogOf returns the log of the request that ctx belongs to. Outside a request
// it returns an empty one that nobody reads, never nil.
func RequestLogOf(ctx context.Context) *RequestLog {
	if n, ok := ctx.Value(noteKey{}).(*RequestLog); ok {
		return n
	}
	return &RequestLog{}
}

type unboundedKey struct{}

// Bound gives the work for a request a deadline.
func Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, unboundedKey{}, ctx), d)
}

// Unbounded returns the context of the request without the deadline of Bound, for
// answers that last as long as the client stays. It ends when the client leaves.
func Unbounded(ctx context.Context) context.Context {
	if whole, ok := ctx.Value(unboundedKey{}).(context.Context); ok {
		return whole
	}
	return ctx
}

// RequestID returns the id of the request that ctx belongs to, "" outside one.
func RequestID(ctx context.Context) string { return RequestLogOf(ctx).ID }

// NewRequestID makes a request id: req_ and 26 random lower-case letters and digits.
func NewRequestID() string { return "req_" + strings.ToLower(rand.Text()) }
