package courier

import (
	"bufio"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"time"
)

// line is a connection to a server. One request at a time uses it, in the
// goroutine that sends the request: net/http has two more for each connection,
// which serve what webhooks do not need, and handing a request to them and its
// answer back costs as much as the rest of a delivery's HTTP.
type line struct {
	net.Conn          // plain or TLS
	raw      net.Conn // what that stands on
	to       string   // the address and protocol that it leads to
	in       bufio.Reader
	out      bufio.Writer
	room     int64     // how much may still be read of the answer
	used     bool      // for an earlier request
	since    time.Time // idle
	heard    bool      // something of the present answer came
}

// past is a deadline that cuts off what is under way.
var past = time.Unix(1, 0)

var (
	errLongHeader  = errors.New("the answer's headers are too long")
	errManyInterim = errors.New("the server sent interim answers without end")
)

// maxInterim bounds the answers with 1xx that may come before the answer.
const maxInterim = 5

func newLine(conn, raw net.Conn, to string) *line {
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

// exchange sends a request and reads its answer, until then. It reports whether
// the line can serve another request.
func (l *line) exchange(ctx context.Context, req *http.Request, until time.Time) (a Answer, reusable bool, err error) {
	l.heard, l.room = false, maxHeader
	if err := l.SetDeadline(until); err != nil {
		return a, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.SetDeadline(past) })
	defer func() { reusable = stop() && reusable }()
	if err := req.Write(&l.out); err != nil {
		return a, false, err
	}
	if err := l.out.Flush(); err != nil {
		return a, false, err
	}
	resp, err := l.head(req) //nolint:bodyclose // that would read it to its end, however long it is
	if err != nil {
		return a, false, err
	}
	l.room = math.MaxInt64 // read bounds the body
	body, whole, err := read(resp)
	a = Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
	if err != nil {
		return a, false, err
	}
	whole = whole || drain(resp, len(body))
	return a, whole && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && l.in.Buffered() == 0, nil
}

// head reads the answer up to its body.
func (l *line) head(req *http.Request) (*http.Response, error) {
	for range maxInterim {
		resp, err := http.ReadResponse(&l.in, req)
		if err != nil || resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
	}
	return nil, errManyInterim
}

// broken reports whether an error means that the server had closed the line
// before the request came: nothing was heard, and it is not that we gave up.
func (l *line) broken(err error) bool {
	return l.used && !l.heard && !isTimeout(err)
}
