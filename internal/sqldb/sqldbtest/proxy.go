package sqldbtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy connects a program to PostgreSQL and can fail like a network. Its methods may be called at
// any time.
type Proxy struct {
	URL string // of the database, through the proxy

	listener         net.Listener
	network, address string // of the database

	mu     sync.Mutex
	down   bool
	frozen chan struct{} // nothing passes until it is closed; nil: everything passes
	deaf   bool
	conns  map[net.Conn]*line
	commit bool // the next answer to a commit is lost
}

// line is a connection through the proxy.
type line struct{ silent atomic.Bool }

// NewProxy starts a proxy to the database at a URL; it ends with the test.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	cfg, err := pgconn.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{conns: map[net.Conn]*line{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if p.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.Cut()
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable") // dropping messages requires reading them
	u.Host, u.RawQuery = p.listener.Addr().String(), q.Encode()
	p.URL = u.String()
	go p.serve(context.WithoutCancel(t.Context()))
	return p
}

func (p *Proxy) serve(ctx context.Context) {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer near.Close() //nolint:errcheck // either side may have closed it
			far, err := new(net.Dialer).DialContext(ctx, p.network, p.address)
			if err != nil {
				return
			}
			defer far.Close() //nolint:errcheck // either side may have closed it
			l := &line{}
			if !p.join(l, near, far) {
				return
			}
			go p.carry(l, far, near)
			p.carryMessages(l, near, far)
		}()
	}
}

// join records both ends of a connection; false means that the proxy is cut.
func (p *Proxy) join(l *line, ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		p.conns[c] = l
	}
	return !p.down
}

// passes waits while the proxy is frozen, and reports whether it drops messages.
func (p *Proxy) passes() (deaf bool) {
	p.mu.Lock()
	frozen := p.frozen
	deaf = p.deaf
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return deaf
}

// carry forwards the program's data.
func (p *Proxy) carry(l *line, to, from net.Conn) {
	defer to.Close() //nolint:errcheck // either side may have closed it
	for load := make([]byte, 32<<10); ; {
		n, err := from.Read(load)
		p.passes()
		if l.silent.Load() {
			n = 0
		}
		if _, werr := to.Write(load[:n]); err != nil || werr != nil {
			return
		}
	}
}

// carryMessages forwards the database's data, message by message.
func (p *Proxy) carryMessages(l *line, to, from net.Conn) {
	const notification = 'A'
	for in := bufio.NewReader(from); ; {
		head, err := in.Peek(5)
		if err != nil {
			return
		}
		size := 1 + int64(binary.BigEndian.Uint32(head[1:]))
		target := io.Writer(to)
		if p.passes() && head[0] == notification {
			target = io.Discard
		}
		if p.loses(in, size) {
			l.silent.Store(true)
		}
		if l.silent.Load() {
			target = io.Discard
		}
		if _, err := io.CopyN(target, in, size); err != nil {
			return
		}
	}
}

// Freeze keeps connections open and forwards nothing, like a network that drops packets. Restore
// delivers the delayed data.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// loses reports whether the next message is the answer to a commit that LoseCommit is for.
func (p *Proxy) loses(in *bufio.Reader, size int64) bool {
	const answer = "COMMIT\x00"
	if size != int64(5+len(answer)) {
		return false
	}
	message, err := in.Peek(int(size))
	if err != nil || message[0] != 'C' || string(message[5:]) != answer {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := p.commit
	p.commit = false
	return lost
}

// LoseCommit drops the answer to the next commit, and everything after it on that connection.
func (p *Proxy) LoseCommit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commit = true
}

// Silence drops everything on the present connections for good and keeps them open, like a firewall
// that has forgotten them. New connections work.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.conns {
		l.silent.Store(true)
	}
}

// Cut closes every connection, even in the middle of a message, and refuses new ones until Restore,
// like a killed database.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
	p.thaw()
}

// Restore ends Freeze and Cut.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
	p.thaw()
}

func (p *Proxy) thaw() {
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Deafen drops the messages of NOTIFY, as a pooler in transaction mode does.
func (p *Proxy) Deafen(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
}
