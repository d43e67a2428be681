package scenario_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/scenario"
)

// slowRunner returns a Runner with in-memory connections to a slow server: answer returns the
// duration of the n-th request.
func slowRunner(t *testing.T, answer func(n int) time.Duration) *scenario.Runner {
	t.Helper()
	n := make(chan int, 1)
	n <- 0
	dial := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close() //nolint:errcheck // end of a test
			r, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			i := <-n
			n <- i + 1
			time.Sleep(answer(i)) // by the bubble's clock
			_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{\"success\":true}")
		}()
		return ours, nil
	}
	t.Cleanup(func() { time.Sleep(time.Minute) }) // until the server's goroutines have ended
	client := courier.New(courier.Options{AllowPrivate: true, Dial: dial})
	t.Cleanup(client.Close)
	return &scenario.Runner{
		Runner: diagnose.Runner{
			Client: client, Now: time.Now,
			Target: diagnose.Target{URL: "http://partner.test/hook", Brand: "Acme", Secrets: courier.NewSecrets(ownSecret)},
		},
	}
}

// TestSlowAnswer: the measured time, and the limits for a warning and a failure.
func TestSlowAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int) time.Duration
		want   string
		text   string // part of the last step's text
	}{
		"in time":                  {func(int) time.Duration { return 2900 * time.Millisecond }, "pass pass", "they took 2.9s, 2.9s, 2.9s, 2.9s, 2.9s"},
		"slow":                     {func(int) time.Duration { return 3100 * time.Millisecond }, "warn warn", "took 3.1s"},
		"too slow":                 {func(int) time.Duration { return courier.Timeout + time.Second }, "fail skipped", "not sent"},
		"slow when there are many": {func(n int) time.Duration { return time.Duration(n) * 3 * time.Second }, "pass fail", "no answer within 10s"},
		"one of many is slow":      {func(n int) time.Duration { return time.Duration(n/5) * 4 * time.Second }, "pass warn", "took 4s; they took 0ms, 0ms, 0ms, 0ms, 4s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				results := run(t, slowRunner(t, c.answer), scenario.Slow)
				if got := verdicts(results); got != c.want || !strings.Contains(results[1].Text, c.text) {
					t.Errorf("got %s (%s), want %s (%s)", got, results[1].Text, c.want, c.text)
				}
				if first := results[0]; first.Verdict == diagnose.Warn && (first.Took != 3100*time.Millisecond || !strings.Contains(first.Do[0], "queue")) {
					t.Errorf("took %s: %q", first.Took, first.Do)
				}
			})
		})
	}
}

// TestAWholeRunIsBounded: an endpoint that answers each post late cannot prolong a run endlessly.
func TestAWholeRunIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := slowRunner(t, func(int) time.Duration { return 9900 * time.Millisecond })
		results, err := r.Run(t.Context(), scenario.All()...)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != scenario.Timeout {
			t.Errorf("it took %s, want %s", took, scenario.Timeout)
		}
		sent := 0
		for _, result := range results {
			if result.Sent != "" {
				sent++
			}
		}
		ended := results[sent-1]
		if ended.Verdict != diagnose.Fail || !strings.Contains(ended.Text, "the whole run took longer") {
			t.Errorf("where it ended: %+v", ended)
		}
		if last := results[len(results)-1]; last.Verdict != diagnose.Skipped {
			t.Errorf("the last: %+v", last)
		}
	})
}
