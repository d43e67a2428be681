package httpd_test

import (
	"bufio"
	"context"
	"net/http"
	"testing"
	"time"

	"claviger/internal/httpd"
	"claviger/internal/ui"
)

// TestStreams: a stream outlives the timeouts of a request, and ends first when the server stops.
func TestStreams(t *testing.T) {
	streams := &ui.Streams{Comment: 20 * time.Millisecond}
	still := func(context.Context) error { return nil }
	s := &httpd.Server{
		Address:  "127.0.0.1:0",
		Timeouts: httpd.Timeouts{Read: 20 * time.Millisecond, Request: 20 * time.Millisecond, Write: 20 * time.Millisecond, Drain: time.Hour},
		OnDrain:  []func(){streams.Close},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			read := func(context.Context) ([]ui.Message, error) { return nil, nil }
			if err := streams.Serve(w, r, ui.Stream{Person: 1, Check: still, Read: read}); err != nil {
				t.Error(err)
			}
		}),
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(t.Context())) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for n := 0; n < 8 && lines.Scan(); {
		if lines.Text() != "" {
			n++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("the stream broke off: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
