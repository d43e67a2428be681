package ui_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// follower is a server with one stream of messages from the test.
type follower struct {
	t        *testing.T
	streams  *ui.Streams
	messages chan []ui.Message
	changed  chan struct{}
	refuse   atomic.Pointer[error]
	checks   chan struct{}
	ended    chan error // of the handlers
	url      string
}

func newFollower(t *testing.T, streams *ui.Streams) *follower {
	t.Helper()
	f := &follower{
		t: t, streams: streams, messages: make(chan []ui.Message, 10), changed: make(chan struct{}, 10),
		checks: make(chan struct{}, 1000), ended: make(chan error, 10),
	}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	t.Cleanup(f.streams.Close)
	f.url = server.URL
	return f
}

func (f *follower) serve(w http.ResponseWriter, r *http.Request) {
	ctx, log := wire.Begin(r.Context(), "req_1", "")
	ctx, cancel := wire.Bound(ctx, time.Millisecond) // a stream outlives it
	defer cancel()
	r = r.WithContext(ctx)
	err := f.streams.Serve(w, r, ui.Stream{
		Person: 7, Changed: f.changed,
		Read: func(ctx context.Context) ([]ui.Message, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			select {
			case m := <-f.messages:
				return m, nil
			default:
				return nil, nil
			}
		},
		Check: func(context.Context) error {
			f.checks <- struct{}{}
			if err := f.refuse.Load(); err != nil {
				return *err
			}
			return nil
		},
	})
	if err != nil && fault.Of(err) != nil {
		sample(f.t).Fail(w, r, err)
	}
	if err == nil && log.Gone {
		err = errors.New("gone")
	}
	f.ended <- err
}

func (f *follower) send(messages ...ui.Message) {
	f.messages <- messages
	f.changed <- struct{}{}
}

// connect opens the stream and returns its lines.
func (f *follower) connect() (*http.Response, func() string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url, http.NoBody)
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewReader(answer.Body)
	return answer, func() string {
		var b strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return "end"
			}
			if line == "\n" {
				return strings.TrimSuffix(b.String(), "\n")
			}
			b.WriteString(line)
		}
	}
}

func TestStream(t *testing.T) {
	f := newFollower(t, &ui.Streams{})
	f.messages <- []ui.Message{{ID: "1", Data: "<p>old</p>"}} // a missed message
	answer, next := f.connect()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	f.send(ui.Message{ID: "2\nevent: close", Data: "<p>a\r\nb</p>\n"}, ui.Message{Event: "changed"}, ui.Reload())
	for _, want := range []string{": welcome", "id: 1\ndata: <p>old</p>", "id: 2 event: close\ndata: <p>a\ndata: b</p>", "event: changed\ndata: ", "event: reload\ndata: "} {
		if got := next(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if n := len(f.checks); n != 2 {
		t.Errorf("the access was checked %d times for two sendings", n)
	}
	_ = answer.Body.Close()
	if err := <-f.ended; err == nil || err.Error() != "gone" {
		t.Errorf("a page that leaves is %v", err)
	}
}

// TestStreamEndsForWhoMayNotSeeIt: people without access get only the close event.
func TestStreamEndsForWhoMayNotSeeIt(t *testing.T) {
	refusal := error(fault.New(fault.Missing, "not_found", "Not yours."))
	away := error(unavailableError{})
	for name, c := range map[string]struct {
		refusal *error
		message bool // send a message; otherwise wait for the next check
		want    string
	}{
		"with a message": {&refusal, true, "event: close\ndata: "},
		"by and by":      {&refusal, false, "event: close\ndata: "},
		"nobody knows":   {&away, true, "end"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t, &ui.Streams{Recheck: time.Millisecond})
			_, next := f.connect()
			f.refuse.Store(c.refusal)
			if next(); c.message {
				f.send(ui.Message{Data: "secret"})
			}
			if got := next(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := next(); got != "end" {
				t.Errorf("then %q", got)
			}
		})
	}
}

type unavailableError struct{}

func (unavailableError) Error() string     { return "away" }
func (unavailableError) Unavailable() bool { return true }

func TestStreamComments(t *testing.T) {
	f := newFollower(t, &ui.Streams{Comment: time.Millisecond})
	_, next := f.connect()
	next()
	if got := next(); got != ": still here" {
		t.Errorf("got %q", got)
	}
}

// TestStreamsEnd: all streams end together, and none begins after that.
func TestStreamsEnd(t *testing.T) {
	f := newFollower(t, &ui.Streams{})
	_, one := f.connect()
	_, two := f.connect()
	one()
	two()
	f.streams.Close()
	if one() != "end" || two() != "end" {
		t.Error("a stream goes on")
	}
	for range 2 {
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	}
	_, late := f.connect()
	if late(); late() != "end" {
		t.Error("a stream begins when all were ended")
	}
}

// TestStreamsOfAPerson: streams per person are limited, and only open ones count.
func TestStreamsOfAPerson(t *testing.T) {
	f := newFollower(t, &ui.Streams{PerPerson: 2})
	first, _ := f.connect()
	f.connect()
	refused, _ := f.connect()
	body, _ := io.ReadAll(refused.Body)
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") != "60" {
		t.Errorf("the third is answered %d %s", refused.StatusCode, body)
	}
	<-f.ended
	_ = first.Body.Close()
	<-f.ended
	if again, _ := f.connect(); again.StatusCode != http.StatusOK {
		t.Errorf("after one was closed: %d", again.StatusCode)
	}
}

// TestStreamToAPageThatDoesNotRead: such a stream is cut off.
func TestStreamToAPageThatDoesNotRead(t *testing.T) {
	f := newFollower(t, &ui.Streams{Write: 10 * time.Millisecond})
	f.messages <- []ui.Message{{Data: strings.Repeat("x", 32<<20)}}
	f.connect()
	if err := <-f.ended; err == nil {
		t.Error("the stream ended well")
	}
}
