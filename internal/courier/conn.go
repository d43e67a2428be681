package courier

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"time"
)

// conn is a connection to a server. One request at a time uses it, in the goroutine that sends the
// request. net/http runs two more goroutines per connection for features that webhooks do not need.
// Passing a request to them and its answer back costs as much as the rest of a delivery's HTTP.
type conn struct {
	net.Conn          // plain or TLS
	raw      net.Conn // the TCP connection under it
	to       origin   // the server and the owner
	in       bufio.Reader
	out      bufio.Writer
	unread   int64     // bytes of the answer that may still be read
	used     bool      // for an earlier request
	since    time.Time // idle
	sent     time.Time // time of the current request
	heard    bool      // part of its answer arrived

	firstByte time.Duration // from sending the current request until heard; 0: not yet

	certificateUntil time.Time // expiry of the server's certificate; zero without TLS
}

// past is a deadline that aborts reads and writes in progress.
var past = time.Unix(1, 0)

// The defects of an answer.
var (
	ErrLongHeader = errors.New("the answer's headers are too long")
	ErrNotHTTP    = errors.New("the answer is not HTTP")
	ErrMidway     = errors.New("the answer broke off") // after it had begun
)

const (
	// atOnce is the time within which the error of a closed connection shows.
	atOnce = time.Second
	// drainTime limits reading the unused rest of an answer.
	drainTime = time.Second
)

func newConn(stream, raw net.Conn, to origin) *conn {
	c := &conn{Conn: stream, raw: raw, to: to}
	c.in.Reset(reader{c})
	c.out.Reset(stream)
	return c
}

// reader reads at most unread bytes from the connection.
type reader struct{ *conn }

func (r reader) Read(b []byte) (int, error) {
	if r.unread <= 0 {
		return 0, ErrLongHeader
	}
	n, err := r.Conn.Read(b[:min(int64(len(b)), r.unread)])
	r.unread -= int64(n)
	if n > 0 && !r.heard {
		r.heard, r.firstByte = true, atLeast(time.Since(r.sent))
	}
	return n, err
}

// reusable sets the deadline of an idle connection and reports whether it is open and has nothing
// to read. Bytes after the last answer mean that the server is closing the connection: some servers
// send 408 first, which must not be read as the answer to the next request.
func (c *conn) reusable(until time.Time) bool {
	if c.Conn != c.raw {
		// TLS may have buffered more than the answer. With a deadline in the past, the read returns
		// only buffered bytes.
		var b [1]byte
		_ = c.SetReadDeadline(past)
		if _, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	// After its deadline every call on a connection fails, even a peek.
	return c.SetDeadline(until) == nil && peekIdle(c.raw)
}

// exchange sends a request and reads its answer. It reports whether the connection can be used for
// another request.
func (c *conn) exchange(
	ctx context.Context,
	req *http.Request,
	sent []byte,
	begun time.Time,
	a *Answer,
) (reusable bool, err error) {
	c.heard = false
	c.firstByte = 0
	c.unread = maxHeader
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	defer func() { reusable = stop() && reusable }()
	if err := write(&c.out, req, sent); err != nil {
		return false, err
	}
	if err := c.out.Flush(); err != nil {
		return false, err
	}
	c.sent = time.Now()
	resp, err := c.head(req) //nolint:bodyclose // Close would read it to the end, however long it is
	if err != nil {
		return false, err
	}
	c.unread = math.MaxInt64 // read limits the body
	body, whole, err := read(resp)
	a.Status, a.Header, a.Body, a.Took = resp.StatusCode, resp.Header, body, time.Since(begun)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrMidway, err)
	}
	if !whole {
		_ = c.SetReadDeadline(time.Now().Add(min(drainTime, time.Until(begun.Add(Timeout)))))
		whole = drain(resp, len(body))
	}
	return whole && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && c.in.Buffered() == 0, nil
}

// abort closes a connection in the middle of an exchange. The system drops unsent data: it must not
// arrive after we gave up.
func (c *conn) abort() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // at worst it closes normally
	}
	_ = c.raw.Close() // skip close_notify
}

// head reads the answer up to its body. It skips interim answers, within the limit on the size of
// headers.
func (c *conn) head(req *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(&c.in, req)
		switch {
		case err != nil && c.unread <= 0:
			return nil, ErrLongHeader
		case err != nil && !broke(err):
			return nil, ErrNotHTTP // net/http's error quotes the answer
		case err != nil:
			return nil, err
		case resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		}
	}
}

// broke reports whether an error comes from the connection and not from the content of the answer.
func broke(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// stale reports whether the server had closed an idle connection before the request arrived: the
// error shows within atOnce, and no answer began.
func (c *conn) stale(err error) bool {
	return c.used && !c.heard && !IsTimeout(err) && (c.sent.IsZero() || time.Since(c.sent) < atOnce)
}

// IsTimeout reports whether an error is that of a deadline.
func IsTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
