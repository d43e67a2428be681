package load_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"claviger/bench/internal/load"
)

// TestAsk follows a chain of answers: a truncated body, or one mixed up with the previous one,
// would break it.
func TestAsk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, strings.TrimPrefix(string(body), "x"))
	}))
	defer server.Close()
	client, err := load.Dial(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for n := 1000; n > 0; n -= 250 {
		sent := strings.Repeat("x", n)
		status, body, err := client.Ask(load.Form("/", sent))
		if err != nil || status != http.StatusOK || "x"+string(body) != sent {
			t.Fatalf("%d letters were answered %d by %d letters, %v", n, status, len(body), err)
		}
		if status, size, err := client.Do(load.Form("/", sent)); err != nil || status != http.StatusOK || size != int64(n-1) {
			t.Fatalf("%d letters were answered %d by %d letters, %v", n, status, size, err)
		}
	}
}

// TestEach: every piece is done once, by any worker.
func TestEach(t *testing.T) {
	const pieces = 1000
	var done [pieces]atomic.Int64
	_, err := load.Each(t.Context(), 7, pieces, func(_ context.Context, _, piece int) error {
		done[piece].Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("piece %d was done %d times", i, n)
		}
	}
}

// TestEachEnds makes a piece fail.
func TestEachEnds(t *testing.T) {
	var done atomic.Int64
	_, err := load.Each(t.Context(), 1, 10, func(_ context.Context, _, piece int) error {
		done.Add(1)
		if piece == 3 {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
	if err != io.ErrUnexpectedEOF || done.Load() != 4 { //nolint:errorlint // it must be unwrapped
		t.Errorf("%d pieces were done, %v", done.Load(), err)
	}
}
