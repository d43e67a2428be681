package webhook_test

import (
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/webhooktest"
)

func TestSupersedeRule(t *testing.T) {
	rule := webhook.Supersede{After: 10 * time.Minute, Attempts: 4}
	poisoned := webhook.Refused{Times: 4, Since: start, Alone: true, EventID: 1, NewestEvent: 2}
	for name, c := range map[string]struct {
		change func(*webhook.Refused)
		after  time.Duration
		want   bool
	}{
		"refused often enough and long enough": {func(*webhook.Refused) {}, 10 * time.Minute, true},
		"more of all":                          {func(r *webhook.Refused) { r.Times, r.NewestEvent = 9, 7 }, time.Hour, true},
		"three refusals":                       {func(r *webhook.Refused) { r.Times = 3 }, time.Hour, false},
		"not yet ten minutes":                  {func(*webhook.Refused) {}, 10*time.Minute - 1, false},
		"nothing else was taken":               {func(r *webhook.Refused) { r.Alone = false }, time.Hour, false},
		"it is the newest":                     {func(r *webhook.Refused) { r.NewestEvent = 1 }, time.Hour, false},
		"never refused":                        {func(r *webhook.Refused) { r.Times, r.Since = 0, time.Time{} }, time.Hour, false},
	} {
		r := poisoned
		c.change(&r)
		if got := rule.Applies(r, start.Add(c.after)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSupersedeRuleIsOff: with Attempts 0 nothing is superseded; with 1 a single refusal is enough.
func TestSupersedeRuleIsOff(t *testing.T) {
	r := webhook.Refused{Times: 1, Since: start, Alone: true, EventID: 1, NewestEvent: 2}
	for attempts, want := range map[int]bool{0: false, 1: true, 2: false} {
		if got := (webhook.Supersede{Attempts: attempts}).Applies(r, start); got != want {
			t.Errorf("after %d attempts: %v, want %v", attempts, got, want)
		}
	}
}

// TestRefusedAlone: an event accepted between the first refusal and the request refused next
// counts, even if another was accepted after that request.
func TestRefusedAlone(t *testing.T) {
	first := webhook.Refused{}.After(start.Add(-time.Second), time.Time{}, start.Add(-time.Second))
	if want := (webhook.Refused{Times: 1, Since: start}); first != want {
		t.Fatalf("the first refusal: %+v, want %+v", first, want)
	}
	after := func(d time.Duration) time.Time { return start.Add(d * time.Second) }
	for name, c := range map[string]struct {
		known, taken time.Duration
		want         bool
	}{
		"taken before the request":                     {-1, 5, true},
		"taken before the first refusal":               {-1, -1, false},
		"taken after the request":                      {-1, 11, false},
		"taken before and after the request":           {5, 11, true},
		"taken at the time of the request":             {-1, 10, true},
		"taken at the time of the first refusal":       {0, 0, false},
		"taken then, and after the request once again": {0, 11, false},
	} {
		want := webhook.Refused{Times: 2, Since: start, Alone: c.want}
		if got := first.After(after(10), after(c.known), after(c.taken)); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	alone := webhook.Refused{Times: 2, Since: start, Alone: true}
	if got := alone.After(after(10), after(-1), after(-1)); !got.Alone {
		t.Error("a refusal took back that others were taken")
	}
}

func TestWhatIsARefusal(t *testing.T) {
	for status, want := range map[int]bool{
		0: false, 200: false, 301: false, 400: true, 401: true, 403: true, 404: true, 408: false, 409: true, 410: false, 422: true,
		425: false, 429: false, 451: true, 499: true, 500: false, 503: false,
	} {
		if got := webhook.Refuses(status, ""); got != want {
			t.Errorf("%d is a refusal: %v, want %v", status, got, want)
		}
	}
	for body, want := range map[string]bool{`{"success":false}`: true, `{"success":true}`: false, `no`: false} {
		if got := webhook.Refuses(200, body); got != want {
			t.Errorf("200 %s is a refusal: %v, want %v", body, got, want)
		}
	}
	for _, status := range []int{199, 300, 500} {
		if webhook.Refuses(status, `{"success":false}`) {
			t.Errorf("%d is a refusal by its body", status)
		}
	}
}

// TestRedeliveredEventMakesNoWay: a refused event that is redelivered while it is about to be
// superseded is sent.
func TestRedeliveredEventMakesNoWay(t *testing.T) {
	for name, redelivered := range map[string]bool{"left alone": false, "redelivered": true} {
		t.Run(name, func(t *testing.T) {
			o := box(t)
			claim := cluster.Claim{Shard: 1, Node: "us", Epoch: 7}
			write(t, o, func(tx *sqldb.Tx) {
				tx.Queue(`UPDATE outbox SET attempts = 4, refusals = 4, refused_since = 1, refused_alone = TRUE, due_at = $1 WHERE event_id = 1`, o.Now().Add(time.Hour))
				tx.Queue(`DELETE FROM shards`)
				tx.Queue(`INSERT INTO shards (shard, node, epoch) VALUES ($1, $2, $3)`, claim.Shard, claim.Node, claim.Epoch)
			})
			s := webhook.Store{
				DB: o.DB, Now: o.Now, Node: &cluster.Node{}, Superseded: func(int64, int64) {},
				Policy: webhook.Policy{Supersede: webhook.Supersede{After: time.Minute, Attempts: 4}},
			}
			err := s.SupersedeBehind(t.Context(), claim, []int64{1}, func() {
				if redelivered {
					if err := o.Redeliver(t.Context(), tester, 1, 1); err != nil {
						t.Fatal(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"3 after 0", "4 after 0"}
			if redelivered {
				want = []string{"1 after 4", "2 after 0", "3 after 0", "4 after 0"}
			}
			webhooktest.Same(t, "open", due(t, o), want)
		})
	}
}
