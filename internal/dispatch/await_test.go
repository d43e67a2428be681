package dispatch_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"claviger/internal/webhook"
)

// TestAwaitAttempt: the wait ends with the first attempt, even a failed one, and does not start if
// nothing is pending.
func TestAwaitAttempt(t *testing.T) {
	r := newHarness(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	r.partner(1, func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		w.WriteHeader(http.StatusInternalServerError)
	})
	r.license(1, 10)
	out, stop := r.running(settings{schedule: webhook.Schedule{time.Hour}})
	defer stop()
	if !out.AwaitAttempt(t.Context(), 10, time.Hour) {
		t.Error("there is no event yet, so there is nothing to wait for")
	}

	r.event(out, 10)
	<-asked
	waited := make(chan bool)
	go func() { waited <- out.AwaitAttempt(t.Context(), 10, time.Hour) }()
	select {
	case <-waited:
		t.Error("the wait was over before the attempt was")
	default:
	}
	close(answer)
	if !<-waited {
		t.Error("an attempt that failed does not count as made")
	}
}

// TestAwaitAttemptThatCannotBe: there is no wait if no attempt can be made.
func TestAwaitAttemptThatCannotBe(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T) *outbox{
		"behind one that failed": func(t *testing.T) *outbox {
			r := steppedHarness(t)
			e := &endpoint{TB: t, all: 500}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1)
			out := r.stepped(settings{schedule: hourly})
			r.event(out, 1)
			r.step(out)
			r.event(out, 1)
			same(t, "states", r.states(), []string{"1 pending after 1", "2 pending after 0"})
			return out
		},
		"parked": func(t *testing.T) *outbox {
			r := steppedHarness(t)
			e := &endpoint{TB: t, all: 410}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1, 2)
			out := r.stepped(settings{schedule: hourly})
			r.event(out, 2)
			r.step(out)
			r.event(out, 1)
			return out
		},
		"no endpoint": func(t *testing.T) *outbox {
			r := steppedHarness(t)
			r.partner(1, nil)
			r.license(1, 1)
			out := r.stepped(settings{schedule: hourly})
			r.event(out, 1)
			r.step(out)
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := prepare(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // only if it waits wrongly
			defer cancel()
			if !out.AwaitAttempt(ctx, 1, time.Hour) {
				t.Error("it waits for an attempt that cannot be made")
			}
		})
	}
}
