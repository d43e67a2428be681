package httpd

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// freshConns has the connections on which no request was read yet. http.Server.Shutdown drops a request that
// it reads after its call, so the first requests of accepted connections must be read before that.
type freshConns struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	none chan struct{} // closed when open is empty; nil: no one waits
}

// note is the ConnState hook of the server.
func (f *freshConns) note(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateNew {
		f.open[c] = true
		return
	}
	delete(f.open, c)
	if f.none != nil && len(f.open) == 0 {
		close(f.none)
		f.none = nil
	}
}

// wait waits until every connection has a request or is closed, limited by limit and ctx. It is called
// once, when no more connections are accepted.
func (f *freshConns) wait(ctx context.Context, limit time.Duration) {
	none := make(chan struct{})
	f.mu.Lock()
	if len(f.open) == 0 {
		f.mu.Unlock()
		return
	}
	f.none = none
	f.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}
