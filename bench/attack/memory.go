package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// memory fills a partner's records with the largest possible answers, and reads them over 600
// connections, a few bytes at a time.
func memory(ctx context.Context, l *lab) error {
	const events, attempts, slow = 100, 10, 600
	var posts atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		posts.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(strings.Repeat("\x01", 16<<10)))
	}))
	defer endpoint.Close()
	t, err := l.start(ctx, "--retry", strings.TrimSuffix(strings.Repeat("1s,", attempts-1), ","))
	if err != nil {
		return err
	}
	defer t.stop()
	honest, hostile, err := t.addTwo(ctx, endpoint.URL)
	if err != nil {
		return err
	}
	if err := t.sell(ctx, hostile, events); err != nil {
		return err
	}
	for posts.Load() < events*attempts && ctx.Err() == nil {
		pause(ctx, 100*time.Millisecond)
	}
	pause(ctx, time.Second) // the last answers are recorded
	reading, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	var served, refused atomic.Int64
	var all sync.WaitGroup
	for range slow {
		all.Go(func() { readSlowly(reading, t.host(), hostile.APIKey, &served, &refused) })
	}
	seen := t.useHonestly(reading, honest, 30*time.Second)
	stop()
	all.Wait()
	what := fmt.Sprintf("%d slow readers of the largest page", slow)
	l.add(what+": those that got it, those that were told to wait", "–", "%d, %d", served.Load(), refused.Load())
	l.addHonest(what, seen)
	return nil
}

// readSlowly requests the largest page again and again and reads 64 bytes a second.
func readSlowly(ctx context.Context, host, key string, served, refused *atomic.Int64) {
	for ctx.Err() == nil {
		status, err := readOnce(ctx, host, key)
		switch {
		case err == nil && status == http.StatusOK:
			served.Add(1)
		case err == nil:
			refused.Add(1)
		}
		pause(ctx, time.Second)
	}
}

// readOnce returns the status as soon as it arrives, and leaves the connection open until ctx or
// the server ends it.
func readOnce(ctx context.Context, host, key string) (int, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn,
		"GET /v2/licenses/events?limit=100 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host,
		key); err != nil {
		return 0, err
	}
	r := bufio.NewReaderSize(conn, 64)
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	var status int
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil || status != http.StatusOK {
		return status, err
	}
	for buf := make([]byte, 64); ; {
		if _, err := r.Read(buf); err != nil {
			return status, nil
		}
		pause(ctx, time.Second)
	}
}
