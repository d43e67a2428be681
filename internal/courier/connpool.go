package courier

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

// connPool holds idle connections for reuse.
type connPool struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config
	perHost int
	max     int

	mu      sync.Mutex
	idle    map[origin][]*conn // most recently used last
	count   int
	pruning bool // a call of prune is scheduled
}

// origin is the server of a connection and the owner of its requests. A server can send bytes
// before it gets the next request, which would be read as its answer. So a connection is never
// reused for another owner.
type origin struct {
	owner int64
	to    string // scheme and host
}

// get returns a connection to a URL's server with the deadline until: an idle one of this owner, or
// a new one if there is none or anew is set.
func (p *connPool) get(
	ctx context.Context,
	owner int64,
	u *url.URL,
	anew bool,
	until time.Time,
	timing *Timing,
) (*conn, error) {
	to := origin{owner, u.Scheme + "://" + u.Host}
	for !anew {
		c := p.popIdle(to)
		if c == nil {
			break
		}
		if c.reusable(until) {
			timing.Reused = true
			return c, nil
		}
		_ = c.Close()
	}
	c, err := p.dialNew(ctx, u, to, timing)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(until); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// popIdle removes and returns the most recently used connection, or nil.
func (p *connPool) popIdle(to origin) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[to]
	if len(idle) == 0 {
		return nil
	}
	c := idle[len(idle)-1]
	idle[len(idle)-1] = nil
	p.idle[to] = idle[:len(idle)-1]
	p.count--
	return c
}

// dialNew opens a connection within ConnectTimeout.
func (p *connPool) dialNew(ctx context.Context, u *url.URL, to origin, timing *Timing) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	watch := &dialWatch{begun: time.Now()}
	raw, err := p.dial(watch.trace(ctx), "tcp", net.JoinHostPort(u.Hostname(), port))
	timing.DNS, timing.Connect = watch.times()
	if err != nil {
		return nil, err
	}
	limitUnacknowledged(raw)
	if u.Scheme != "https" {
		return newConn(raw, raw, to), nil
	}
	config := p.tls.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(raw, config)
	begun := time.Now()
	err = secure.HandshakeContext(ctx)
	timing.TLS = atLeast(time.Since(begun))
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	c := newConn(secure, raw, to)
	c.certificateUntil = secure.ConnectionState().PeerCertificates[0].NotAfter
	return c, nil
}

// put returns a connection to the pool. A full pool closes another one. A connection without an
// owner is closed.
func (p *connPool) put(c *conn) {
	if c.to.owner == 0 {
		_ = c.Close()
		return
	}
	c.used, c.since, c.sent = true, time.Now(), time.Time{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[c.to]) >= p.perHost {
		_ = c.Close()
		return
	}
	if p.count >= p.max {
		p.evict()
	}
	p.idle[c.to] = append(p.idle[c.to], c)
	p.count++
	if !p.pruning {
		p.pruning = true
		time.AfterFunc(pruneEvery, p.prune)
	}
}

// evict closes the longest idle connection of some server. The caller must hold the lock.
func (p *connPool) evict() {
	for to, idle := range p.idle {
		if len(idle) > 0 {
			_ = idle[0].Close()
			p.idle[to] = slices.Delete(idle, 0, 1)
			p.count--
			return
		}
	}
}

// prune closes connections that were idle for long or that the server has closed. It schedules
// itself while the pool is not empty.
func (p *connPool) prune() {
	long := time.Now().Add(-idleTimeout)
	p.closeIdle(func(c *conn) bool { return !c.since.After(long) || !c.reusable(time.Time{}) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pruning = p.count > 0; p.pruning {
		time.AfterFunc(pruneEvery, p.prune)
	}
}

// closeIdle closes the idle connections for which closes returns true.
func (p *connPool) closeIdle(closes func(*conn) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, idle := range p.idle {
		p.idle[to] = slices.DeleteFunc(idle, func(c *conn) bool {
			closed := closes(c)
			if closed {
				p.count--
				_ = c.Close()
			}
			return closed
		})
		if len(p.idle[to]) == 0 {
			delete(p.idle, to)
		}
	}
}
