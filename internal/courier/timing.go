package courier

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing is the duration of each part of a request; 0: there was no such part, or it was not
// reached.
type Timing struct {
	DNS       time.Duration // to resolve the host name
	Connect   time.Duration // to open the connection
	TLS       time.Duration // for the handshake
	FirstByte time.Duration // from sending the request to the first byte of the answer
	Reused    bool          // an idle connection was used
}

// atLeast makes a measured duration nonzero: clocks are coarse, and records have microseconds.
func atLeast(d time.Duration) time.Duration { return max(d, time.Microsecond) }

// dialWatch measures a dial. The dialer may call it from other goroutines, even after the dial was
// given up.
type dialWatch struct {
	begun time.Time

	mu       sync.Mutex
	dnsBegun time.Time
	dns      time.Duration
}

// trace makes the dialer report to the watch.
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

// times returns the durations of a finished dial. One that was given up during name resolution
// counts entirely as DNS.
func (w *dialWatch) times() (dns, connect time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := time.Since(w.begun)
	if w.dns == 0 && !w.dnsBegun.IsZero() {
		return atLeast(all), 0
	}
	return w.dns, atLeast(all - w.dns)
}
