package area_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/area"
)

// TestTurns: open pages render one at a time. The rest after each is ten times its duration, and a
// second at most.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct{ took, want time.Duration }{
		"a quick page": {10 * time.Millisecond, 110 * time.Millisecond},
		"a slow page":  {time.Minute, time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turns area.Turns
				begun := time.Now()
				done, err := turns.Take(t.Context(), 1)
				if err != nil || time.Since(begun) > 0 {
					t.Fatalf("the first waits for %v, %v", time.Since(begun), err)
				}
				go func() { time.Sleep(c.took); done() }()
				given, giveUp := context.WithTimeout(t.Context(), c.took)
				defer giveUp()
				if _, err := turns.Take(given, 1); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("who gives up gets %v", err)
				}
				done, err = turns.Take(t.Context(), 1)
				if got := time.Since(begun); err != nil || got != c.want {
					t.Errorf("the next one waits for %v, %v", got, err)
				}
				done()
			})
		})
	}
}

// TestTurnsOfPeople: the pages of one person wait for one another, so another person waits for one
// of them and not for all.
func TestTurnsOfPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns area.Turns
		served := make(chan int64, 8)
		look := func(person int64) {
			done, err := turns.Take(t.Context(), person)
			if err != nil {
				t.Error(err)
				return
			}
			served <- person
			time.Sleep(time.Millisecond)
			done()
		}
		for range 5 {
			go look(1)
		}
		synctest.Wait()
		look(2)
		if first, second := <-served, <-served; first != 1 || second != 2 {
			t.Errorf("served are %d, then %d", first, second)
		}
		for range 4 {
			if got := <-served; got != 1 {
				t.Errorf("%d is served after them", got)
			}
		}
		time.Sleep(time.Second) // the last turn is returned
	})
}
