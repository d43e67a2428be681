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

// lines are the connections that are kept for use again.
type lines struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config
	perHost int
	most    int

	mu     sync.Mutex
	idle   map[origin][]*line // by whose they are and where they lead, the last used at the end
	count  int
	tidies bool // a tidying is to come
}

// origin is where a line leads, and the owner of the requests that use it. What a
// server says on a connection unasked can only be taken for the answer to the next
// request on that connection, so it must not be another owner's.
type origin struct {
	owner int64
	to    string // the protocol and address
}

// take answers a line that leads to a URL's server, for use until then: one that was
// kept for this owner, unless a new one is wanted.
func (ls *lines) take(ctx context.Context, owner int64, u *url.URL, anew bool, until time.Time) (*line, error) {
	to := origin{owner, u.Scheme + "://" + u.Host}
	for !anew {
		l := ls.last(to)
		if l == nil {
			break
		}
		if l.open(until) {
			return l, nil
		}
		_ = l.Close()
	}
	l, err := ls.connect(ctx, u, to)
	if err != nil {
		return nil, err
	}
	if err := l.SetDeadline(until); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// last takes the line that was used last.
func (ls *lines) last(to origin) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	kept := ls.idle[to]
	if len(kept) == 0 {
		return nil
	}
	l := kept[len(kept)-1]
	kept[len(kept)-1] = nil
	ls.idle[to] = kept[:len(kept)-1]
	ls.count--
	return l
}

// connect makes a new line, within ConnectTimeout.
func (ls *lines) connect(ctx context.Context, u *url.URL, to origin) (*line, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := ls.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" {
		return newLine(conn, conn, to), nil
	}
	config := ls.tls.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newLine(secure, conn, to), nil
}

// keep keeps a line for use again; where enough are kept, another has to go. A line
// without an owner is not kept.
func (ls *lines) keep(l *line) {
	if l.to.owner == 0 {
		_ = l.Close()
		return
	}
	l.used, l.since, l.sent = true, time.Now(), time.Time{}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.idle[l.to]) >= ls.perHost {
		_ = l.Close()
		return
	}
	if ls.count >= ls.most {
		ls.evict()
	}
	ls.idle[l.to] = append(ls.idle[l.to], l)
	ls.count++
	if !ls.tidies {
		ls.tidies = true
		time.AfterFunc(tidyEvery, ls.tidy)
	}
}

// evict closes the line of some server that was idle longest; the lock is held.
func (ls *lines) evict() {
	for to, kept := range ls.idle {
		if len(kept) > 0 {
			_ = kept[0].Close()
			ls.idle[to] = slices.Delete(kept, 0, 1)
			ls.count--
			return
		}
	}
}

// tidy closes what was idle for long, and what the server has closed, and comes
// back while anything is kept.
func (ls *lines) tidy() {
	long := time.Now().Add(-idleTimeout)
	ls.drop(func(l *line) bool { return !l.since.After(long) || !l.open(time.Time{}) })
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.tidies = ls.count > 0; ls.tidies {
		time.AfterFunc(tidyEvery, ls.tidy)
	}
}

// drop closes the idle lines of which that is so.
func (ls *lines) drop(so func(*line) bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for to, kept := range ls.idle {
		ls.idle[to] = slices.DeleteFunc(kept, func(l *line) bool {
			gone := so(l)
			if gone {
				ls.count--
				_ = l.Close()
			}
			return gone
		})
		if len(ls.idle[to]) == 0 {
			delete(ls.idle, to)
		}
	}
}
