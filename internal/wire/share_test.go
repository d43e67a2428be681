package wire_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// most returns how often a key gets one before it would have to wait.
func most(s *wire.Share, key string) (n int) {
	for s.Resize(key, 0, 1) == nil {
		n++
	}
	return n
}

func TestShareLeavesSomethingForTheNext(t *testing.T) {
	s := &wire.Share{Total: 24}
	var got []int
	for _, key := range []string{"a", "b", "c", "d", "a", "b"} {
		got = append(got, most(s, key))
	}
	if diff := cmp.Diff([]int{12, 6, 3, 2, 0, 0}, got); diff != "" {
		t.Errorf("what one after another gets (-want +got)\n%s", diff)
	}
	s.Release("a", 12)
	if n := most(s, "e"); n != 7 {
		t.Errorf("of what a gave back somebody else gets %d, want 7", n)
	}
	whole := &wire.Share{Total: 24}
	if err := errors.Join(whole.Acquire(t.Context(), "a", 24), whole.Resize("a", 24, 24), whole.Resize("a", 24, 30)); err != nil {
		t.Errorf("what is left alone is refused: %v", err)
	}
}

// kindOf classifies errors.
func kindOf(err error) string {
	var away interface{ Unavailable() bool }
	switch {
	case err == nil:
		return "got it"
	case fault.Of(err) != nil:
		return fault.Of(err).Code
	case errors.As(err, &away) && away.Unavailable():
		return "unavailable"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return err.Error()
}

// TestShareRefuses: after waiting in vain, the refusal tells whether the key itself or others hold
// too much.
func TestShareRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &wire.Share{Total: 2, Waiting: 1, Patience: 5 * time.Second}
		begin := time.Now()
		first := s.Acquire(t.Context(), "a", 1)
		second := make(chan error)
		go func() { second <- s.Acquire(t.Context(), "a", 2) }()
		synctest.Wait()
		third := s.Acquire(t.Context(), "a", 1)
		if d := time.Since(begin); d != 0 {
			t.Errorf("a call that finds the queue full is refused after %v", d)
		}
		other, all := s.Acquire(t.Context(), "b", 1), s.Acquire(t.Context(), "c", 1)
		got := []string{kindOf(first), kindOf(<-second), kindOf(third), kindOf(other), kindOf(all)}
		if diff := cmp.Diff([]string{"got it", "too_many_at_once", "too_many_at_once", "got it", "unavailable"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("those that wait are refused after %v, want 5s", d)
		}
	})
}

// TestShareServesInTurn: many calls of one key wait before one of another, which is served second.
func TestShareServesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &wire.Share{Total: 1}
		if err := s.Acquire(t.Context(), "x", 1); err != nil {
			t.Fatal(err)
		}
		served := make(chan string, 10)
		for _, key := range []string{"a", "a", "a", "b", "c", "b"} {
			go func() {
				if err := s.Acquire(t.Context(), key, 1); err != nil {
					t.Error(err)
				}
				served <- key
			}()
			synctest.Wait()
		}
		var got []string
		for range 6 {
			s.Release(last(got, "x"), 1)
			got = append(got, <-served)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a"}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func last(list []string, or string) string {
	if len(list) == 0 {
		return or
	}
	return list[len(list)-1]
}

// TestShareOfOneWhoWentAway: a cancelled waiting call holds nothing, and those behind it continue.
func TestShareOfOneWhoWentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &wire.Share{Total: 4}
		if err := s.Acquire(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		large, small := make(chan error), make(chan error)
		go func() { large <- s.Acquire(ctx, "a", 4) }()
		synctest.Wait()
		go func() { small <- s.Acquire(t.Context(), "a", 1) }()
		synctest.Wait()
		cancel()
		if got := []string{kindOf(<-large), kindOf(<-small)}; !slices.Equal(got, []string{"canceled", "got it"}) {
			t.Errorf("got %v", got)
		}
		s.Release("a", 2)
		if n := most(s, "b"); n != 2 {
			t.Errorf("in the end somebody else gets %d of 4, want 2", n)
		}
	})
}

// TestShareAddsUp: after any non-blocking calls, never more than the total is held, and finally
// everything is free.
func TestShareAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 50).Draw(t, "total")
		s := &wire.Share{Total: total}
		held := map[string]int64{}
		t.Repeat(map[string]func(*rapid.T){
			"resize": func(t *rapid.T) {
				key, to := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.Int64Range(0, 60).Draw(t, "to")
				if s.Resize(key, held[key], to) == nil {
					held[key] = to
				} else if to <= held[key] {
					t.Fatalf("%s may not give back: %d to %d", key, held[key], to)
				}
				sum := min(held["a"], total) + min(held["b"], total) + min(held["c"], total)
				if sum > total {
					t.Fatalf("%v are held of %d", held, total)
				}
			},
		})
		for key, n := range held {
			s.Release(key, n)
		}
		if err := s.Resize("d", 0, total); err != nil {
			t.Fatalf("not all of %d came back from %v: %v", total, held, err)
		}
	})
}

func TestNoShareIsEnough(t *testing.T) {
	var s *wire.Share
	if err := errors.Join(s.Acquire(t.Context(), "a", 1<<60), s.Resize("a", 1<<60, 1<<61)); err != nil {
		t.Error(err)
	}
	s.Release("a", 1<<61)
}
