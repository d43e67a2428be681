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

	mu     sync.Mutex
	idle   map[string][]*line // by where they lead, the last used at the end
	count  int
	tidies bool // a tidying is to come
}

// take answers a line that leads to a URL's server: one that was kept, unless a
// new one is wanted.
func (ls *lines) take(ctx context.Context, u *url.URL, anew bool) (*line, error) {
	to := u.Scheme + "://" + u.Host
	for !anew {
		l := ls.last(to)
		if l == nil {
			break
		}
		if quiet(l.raw) {
			return l, nil
		}
		_ = l.Close() // by the server, or it says what nobody asked
	}
	return ls.connect(ctx, u, to)
}

// last takes the line that was used last.
func (ls *lines) last(to string) *line {
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

// connect makes a new line.
func (ls *lines) connect(ctx context.Context, u *url.URL, to string) (*line, error) {
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
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newLine(secure, conn, to), nil
}

// keep keeps a line for use again, or closes it where enough are kept.
func (ls *lines) keep(l *line) {
	l.used, l.since = true, time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.count >= maxIdle || len(ls.idle[l.to]) >= ls.perHost {
		_ = l.Close()
		return
	}
	ls.count++
	if !ls.tidies {
		ls.tidies = true
		time.AfterFunc(idleTimeout, ls.tidy)
	}
	ls.idle[l.to] = append(ls.idle[l.to], l)
}

// tidy closes what was idle for long, and comes back while anything is kept.
func (ls *lines) tidy() {
	ls.drop(time.Now().Add(-idleTimeout))
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.tidies = ls.count > 0; ls.tidies {
		time.AfterFunc(idleTimeout/2, ls.tidy)
	}
}

// drop closes the lines that are idle since that time or longer.
func (ls *lines) drop(since time.Time) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for to, kept := range ls.idle {
		ls.idle[to] = slices.DeleteFunc(kept, func(l *line) bool {
			old := !l.since.After(since)
			if old {
				ls.count--
				_ = l.Close()
			}
			return old
		})
		if len(ls.idle[to]) == 0 {
			delete(ls.idle, to)
		}
	}
}
