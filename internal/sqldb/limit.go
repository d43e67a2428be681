package sqldb

import (
	"context"
	"fmt"
	"time"
)

// requestKey marks the context of a request.
type requestKey struct{}

// InRequest returns a context for the work of a request: each call of the database with it takes at
// most Options.Timeout.
func InRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, true)
}

// InJob returns a context for longer work that a request began: each statement may take
// Options.JobTimeout, as in a context that no request has.
func InJob(ctx context.Context) context.Context { return context.WithValue(ctx, requestKey{}, false) }

func inRequest(ctx context.Context) bool {
	of, _ := ctx.Value(requestKey{}).(bool)
	return of
}

// limits bound the waits for PostgreSQL. The server ends a statement before the program stops waiting
// for its answer: a connection without any answer is dead.
//
// The server's timeout does not count during a commit. So it never ends the wait for a synchronous
// replica, after which the commit would count as done.
type limits struct {
	request time.Duration // of a call in a request; 0: none
	job     time.Duration // of another statement; 0: none
	always  string        // settings that the server does not keep, as arguments of set_config
}

// bound limits a call in a request.
func (l limits) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.request > 0 && inRequest(ctx) {
		return context.WithTimeout(ctx, l.request)
	}
	return ctx, func() {}
}

// until returns the end of a call that is bounded.
func (l limits) until(bounded context.Context) time.Time {
	if l.request == 0 || !inRequest(bounded) {
		return time.Time{}
	}
	end, _ := bounded.Deadline()
	return end
}

// perStatement returns how long a statement may take until its answer; 0 is unlimited.
func (l limits) perStatement(ctx context.Context) time.Duration {
	if l.job == 0 || inRequest(ctx) {
		return 0
	}
	return l.job + l.job/10
}

// settings returns the statement that sets up a session before its first statement, or "". Sessions
// begin with the timeout of requests, unless the server does not keep settings.
func (l limits) settings(ctx context.Context) string {
	timeout := l.job
	if inRequest(ctx) {
		timeout = l.statement()
	}
	switch {
	case l.always != "":
		return fmt.Sprintf("SELECT set_config('statement_timeout', '%d', true)%s", timeout.Milliseconds(), l.always)
	case timeout == l.statement():
		return ""
	}
	return fmt.Sprintf("SET LOCAL statement_timeout = %d", timeout.Milliseconds())
}

// statement returns the server's timeout for a statement of a request.
func (l limits) statement() time.Duration { return l.request * 9 / 10 }
