package courier

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing is how long the parts of a request took; 0: there was no such part, or it was
// not reached.
type Timing struct {
	DNS       time.Duration // the host name was resolved
	Connect   time.Duration // the connection was opened
	TLS       time.Duration // the handshake
	FirstByte time.Duration // from sending the request to the first byte of the answer
	Reused    bool          // a connection was open already
}

// atLeast makes a duration that was measured tell from one that was not: clocks are
// coarse, and records have microseconds.
func atLeast(d time.Duration) time.Duration { return max(d, time.Microsecond) }

// dialWatch measures a dial. The dialer may call it from other goroutines, also after
// the dial was given up.
type dialWatch struct {
	begun time.Time

	mu       sync.Mutex
	dnsBegun time.Time
	dns      time.Duration
}

// trace has the dialer report to the watch.
func (w *dialWatch) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dnsBegun = time.Now()
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dns = atLeast(time.Since(w.dnsBegun))
		},
	})
}

// times returns how long the dial took, which is over now. One that was given up while
// the name was resolved took all its time for that.
func (w *dialWatch) times() (dns, connect time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := time.Since(w.begun)
	if w.dns == 0 && !w.dnsBegun.IsZero() {
		return atLeast(all), 0
	}
	return w.dns, atLeast(all - w.dns)
}
