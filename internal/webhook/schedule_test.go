package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/webhook"
)

func TestSchedule(t *testing.T) {
	s := webhook.Schedule{5 * time.Second, 30 * time.Second, 24 * time.Hour}
	for name, c := range map[string]struct {
		attempt    int
		retryAfter time.Duration
		random     float64
		want       time.Duration
		again      bool
	}{
		"first":                               {1, 0, 0.5, 5 * time.Second, true},
		"a tenth sooner":                      {1, 0, 0, 4500 * time.Millisecond, true},
		"a tenth later":                       {2, 0, 1, 33 * time.Second, true},
		"never earlier than a tenth sooner":   {3, 0, 0, 24*time.Hour - 144*time.Minute, true},
		"the last wait":                       {3, 0, 0.5, 24 * time.Hour, true},
		"no attempt is left":                  {4, 0, 0.5, 0, false},
		"none is left whatever the partner":   {4, time.Hour, 0.5, 0, false},
		"the schedule was longer before":      {9, 0, 0.5, 0, false},
		"the partner asks for longer":         {1, time.Minute, 0.5, time.Minute, true},
		"which has no jitter":                 {1, time.Minute, 0, time.Minute, true},
		"the partner asks for less":           {2, 10 * time.Second, 0.5, 30 * time.Second, true},
		"less than the wait, jitter included": {2, 28 * time.Second, 0, 28 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			wait, again := s.Next(c.attempt, c.retryAfter, c.random)
			if wait != c.want || again != c.again {
				t.Errorf("got %v, %v, want %v, %v", wait, again, c.want, c.again)
			}
		})
	}
}

// The retries after an outage are spread over a fifth of the wait.
func TestRetriesAreSpread(t *testing.T) {
	s := webhook.Schedule{100 * time.Second}
	const n = 1000
	var slots [20]int
	for i := range n {
		wait, _ := s.Next(1, 0, float64(i)/n)
		slots[int((wait-90*time.Second)/time.Second)]++
	}
	for i, got := range slots {
		if share := n / len(slots); got < share-1 || got > share+1 { // rounding
			t.Errorf("%d of %d come back in second %d", got, n, 90+i)
		}
	}
}
