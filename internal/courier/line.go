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

// line is a connection to a server. One request at a time uses it, in the
// goroutine that sends the request: net/http has two more for each connection,
// which serve what webhooks do not need, and handing a request to them and its
// answer back costs as much as the rest of a delivery's HTTP.
type line struct {
	net.Conn          // plain or TLS
	raw      net.Conn // what that stands on
	to       origin   // where it leads, and whose it is
	in       bufio.Reader
	out      bufio.Writer
	room     int64     // how much may still be read of the answer
	used     bool      // for an earlier request
	since    time.Time // idle
	sent     time.Time // the present request
	heard    bool      // something of its answer came
}

// past is a deadline that cuts off what is under way.
var past = time.Unix(1, 0)

// What is wrong with an answer.
var (
	errLongHeader = errors.New("the answer's headers are too long")
	errNotHTTP    = errors.New("the answer is not HTTP")
	errMidway     = errors.New("the answer broke off")
)

const (
	// atOnce is how soon a server that had closed a kept connection lets us know.
	atOnce = time.Second
	// drainTime is how long the rest of an answer may take that nobody wants.
	drainTime = time.Second
)

func newLine(conn, raw net.Conn, to origin) *line {
	l := &line{Conn: conn, raw: raw, to: to}
	l.in.Reset(reader{l})
	l.out.Reset(conn)
	return l
}

// reader reads from the line what it has room for.
type reader struct{ *line }

func (r reader) Read(b []byte) (int, error) {
	if r.room <= 0 {
		return 0, errLongHeader
	}
	n, err := r.Conn.Read(b[:min(int64(len(b)), r.room)])
	r.room -= int64(n)
	r.heard = r.heard || n > 0
	return n, err
}

// open makes a kept line ready for use until then, and reports whether it is open and the
// server has said nothing on it since its last answer. Else it was closed, or is about to be: some servers send
// 408 first, which must not be taken for the answer to the next request.
func (l *line) open(until time.Time) bool {
	if l.Conn != l.raw {
		// TLS may have read more than the answer. With no time left, what it has is
		// all that can be read.
		var b [1]byte
		_ = l.SetReadDeadline(past)
		if _, err := l.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	// Nothing can be asked of a connection past its deadline.
	return l.SetDeadline(until) == nil && quiet(l.raw)
}

// exchange sends a request and reads its answer. It reports whether the line can
// serve another request.
func (l *line) exchange(ctx context.Context, req *http.Request, sent []byte, begun time.Time) (a Answer, reusable bool, err error) {
	l.heard, l.room = false, maxHeader
	stop := context.AfterFunc(ctx, func() { _ = l.SetDeadline(past) })
	defer func() { reusable = stop() && reusable }()
	if err := write(&l.out, req, sent); err != nil {
		return a, false, err
	}
	if err := l.out.Flush(); err != nil {
		return a, false, err
	}
	l.sent = time.Now()
	resp, err := l.head(req) //nolint:bodyclose // that would read it to its end, however long it is
	if err != nil {
		return a, false, err
	}
	l.room = math.MaxInt64 // read bounds the body
	body, whole, err := read(resp)
	a = Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Took: time.Since(begun)}
	if err != nil {
		return a, false, fmt.Errorf("%w: %w", errMidway, err)
	}
	if !whole {
		_ = l.SetReadDeadline(time.Now().Add(min(drainTime, time.Until(begun.Add(Timeout)))))
		whole = drain(resp, len(body))
	}
	return a, whole && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && l.in.Buffered() == 0, nil
}

// head reads the answer up to its body. Interim answers are passed over, as many
// as there is room for.
func (l *line) head(req *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(&l.in, req)
		switch {
		case err != nil && l.room <= 0:
			return nil, errLongHeader
		case err != nil && !broke(err):
			return nil, errNotHTTP // net/http's words quote it
		case err != nil:
			return nil, err
		case resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		}
	}
}

// broke reports whether an error is the connection's, and not about what came
// over it.
func broke(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// stale reports whether an error means that the server had closed a kept line
// before the request came: it shows at once, and nothing was heard.
func (l *line) stale(err error) bool {
	return l.used && !l.heard && !isTimeout(err) && (l.sent.IsZero() || time.Since(l.sent) < atOnce)
}
