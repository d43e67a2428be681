// Package load sends requests over keep-alive connections as fast as the server answers, and counts
// the answers. It implements only as much HTTP/1.1 as it needs: on a machine shared with the
// server, its own cost would make a slow server look less slow beside a quick one.
package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Client is one connection. It serves one goroutine.
type Client struct {
	conn   net.Conn
	reader *bufio.Reader
	body   []byte // of the last Ask
}

// Dial connects.
func Dial(ctx context.Context, addr string) (*Client, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &Client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// Close hangs up.
func (c *Client) Close() { _ = c.conn.Close() }

// Do sends a request and reads its whole answer without storing it.
func (c *Client) Do(request []byte) (status int, size int64, err error) {
	if status, size, err = c.send(request); err != nil {
		return 0, 0, err
	}
	if _, err := io.CopyN(io.Discard, c.reader, size); err != nil {
		return 0, 0, fmt.Errorf("read the answer: %w", err)
	}
	return status, size, nil
}

// FirstByte is Do that returns the time until the answer began.
func (c *Client) FirstByte(request []byte) (status int, took time.Duration, err error) {
	start := time.Now()
	if _, err := c.conn.Write(request); err != nil {
		return 0, 0, fmt.Errorf("send a request: %w", err)
	}
	if _, err := c.reader.Peek(1); err != nil {
		return 0, 0, fmt.Errorf("wait for an answer: %w", err)
	}
	took = time.Since(start)
	status, size, err := c.head()
	if err == nil {
		_, err = io.CopyN(io.Discard, c.reader, size)
	}
	return status, took, err
}

// Ask is Do that also returns the body, valid until the next request.
func (c *Client) Ask(request []byte) (status int, body []byte, err error) {
	status, size, err := c.send(request)
	if err != nil {
		return 0, nil, err
	}
	c.body = slices.Grow(c.body[:0], int(size))[:size]
	if _, err := io.ReadFull(c.reader, c.body); err != nil {
		return 0, nil, fmt.Errorf("read the answer: %w", err)
	}
	return status, c.body, nil
}

// send sends a request and reads its answer up to the body.
func (c *Client) send(request []byte) (status int, size int64, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, 0, fmt.Errorf("send a request: %w", err)
	}
	return c.head()
}

// head reads an answer up to its body.
func (c *Client) head() (status int, size int64, err error) {
	line, err := c.line()
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, 0, fmt.Errorf("the answer begins with %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, fmt.Errorf("read the status: %w", err)
	}
	size = -1
	for {
		if line, err = c.line(); err != nil {
			return 0, 0, err
		}
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if size, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, 0, fmt.Errorf("read the length: %w", err)
			}
		}
	}
	if size < 0 {
		return 0, 0, fmt.Errorf("an answer of status %d without a Content-Length", status)
	}
	return status, size, nil
}

func (c *Client) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer's header: %w", err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// Work does one piece of work; it runs in the goroutine of its worker.
type Work func(ctx context.Context, worker int) error

// Rate runs a number of workers for a time and returns the pieces of work per second. The first
// error ends it.
func Rate(ctx context.Context, workers int, d time.Duration, do Work) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	end := start.Add(d)
	for worker := range workers {
		wg.Go(func() {
			for n := int64(0); ; n++ {
				if ctx.Err() != nil || time.Now().After(end) {
					done.Add(n)
					return
				}
				if err := do(ctx, worker); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(start).Seconds(), context.Cause(ctx)
}

// Each lets workers do n pieces of work, each piece once, and returns the pieces per second. The
// first error ends it.
func Each(ctx context.Context, workers, n int, do func(ctx context.Context, worker, piece int) error) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for worker := range workers {
		wg.Go(func() {
			for piece := int(next.Add(1)) - 1; piece < n && ctx.Err() == nil; piece = int(next.Add(1)) - 1 {
				if err := do(ctx, worker, piece); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(start).Seconds(), context.Cause(ctx)
}

// Crowd is a set of connections to one server, reused in every round.
type Crowd []*Client

// Gather connects so many times.
func Gather(ctx context.Context, addr string, n int) (Crowd, error) {
	var crowd Crowd
	for range n {
		c, err := Dial(ctx, addr)
		if err != nil {
			crowd.Close()
			return nil, err
		}
		crowd = append(crowd, c)
	}
	return crowd, nil
}

// Close closes all connections.
func (c Crowd) Close() {
	for _, one := range c {
		one.Close()
	}
}

// Rate sends requests on every connection, one after another, and returns the answers per second.
// An answer with another status than want is an error.
func (c Crowd) Rate(ctx context.Context, d time.Duration, want int, next func(worker int) []byte) (float64, error) {
	return Rate(ctx, len(c), d, func(_ context.Context, worker int) error {
		status, _, err := c[worker].Do(next(worker))
		if err == nil && status != want {
			err = fmt.Errorf("answered %d, not %d", status, want)
		}
		return err
	})
}

// Get returns the text of a GET request.
func Get(target, token string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", target, token)
}

// Page returns the text of a browser's GET request with a cookie.
func Page(target, cookie string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: licenses.example.com\r\nCookie: %s\r\n\r\n", target, cookie)
}

// Post returns the text of a POST request with a JSON body.
func Post(target, token, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n%s",
		target, token, len(body), body)
}

// Form returns the text of a POST request with a form.
func Form(target, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: "+
		"application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
		target, len(body), body)
}
