package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// Results of a search: five licenses have one event each. The fourth failed before and waits; the
// fifth waits because the endpoint asked for it.
func TestFind(t *testing.T) {
	const drain = `UPDATE endpoints SET draining = `
	for name, c := range map[string]struct {
		set   string // of the endpoint
		q     webhook.Search
		want  []int64
		due   int
		more  bool
		probe bool
	}{
		"what is due":               {``, webhook.Search{Due: true, Space: 9}, []int64{1, 2, 3}, 3, false, false},
		"one":                       {``, webhook.Search{Due: true, Space: 1}, []int64{1}, 1, true, false},
		"as many as there are":      {``, webhook.Search{Due: true, Space: 3}, []int64{1, 2, 3}, 3, true, false},
		"behind the first":          {``, webhook.Search{Due: true, Space: 1, Held: 1, After: webhook.Cursor{DueAt: start, EventID: 1}}, []int64{2}, 1, true, false},
		"what is held again":        {``, webhook.Search{Due: true, Space: 1, Held: 1}, []int64{1, 2}, 2, true, false},
		"nothing, without space":    {``, webhook.Search{Due: true}, nil, 0, false, false},
		"what was hinted at":        {``, webhook.Search{Space: 9, Hints: []int64{2, 3}}, []int64{2, 3}, 0, false, false},
		"hints take space":          {``, webhook.Search{Due: true, Space: 2, Hints: []int64{3}}, []int64{1, 3}, 1, true, false},
		"hinted at and due is one":  {``, webhook.Search{Due: true, Space: 9, Hints: []int64{1}}, []int64{1, 2, 3}, 3, false, false},
		"a retry before its time":   {``, webhook.Search{Space: 9, Hints: []int64{4, 5}}, nil, 0, false, false},
		"while it drains":           {drain + `1`, webhook.Search{Space: 9, Hints: []int64{4, 5}}, []int64{4}, 0, false, false},
		"to another URL":            {drain + `2`, webhook.Search{Space: 9, Hints: []int64{4, 5}}, []int64{4, 5}, 0, false, false},
		"all that waits, but one":   {drain + `1`, webhook.Search{Due: true, Space: 9}, []int64{1, 2, 3, 4}, 4, false, false},
		"all that waits":            {drain + `2`, webhook.Search{Due: true, Space: 9}, []int64{1, 2, 3, 4, 5}, 5, false, false},
		"a probe":                   {`UPDATE endpoints SET parked_at = 1, probed = 1`, webhook.Search{Due: true, Space: 9}, []int64{2}, 0, false, true},
		"no probe before its time":  {`UPDATE endpoints SET parked_at = 1, probe_at = 9000000000000000000`, webhook.Search{Due: true, Space: 9}, nil, 0, false, false},
		"no probe while one is out": {`UPDATE endpoints SET parked_at = 1`, webhook.Search{Due: true, Space: 9, Held: 1}, nil, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			r.partner(1, newGate(t).ServeHTTP)
			r.license(1, 1, 2, 3, 4, 5)
			for id := int64(1); id <= 5; id++ {
				r.event(r.out, id)
			}
			out := r.stepped(settings{})
			// Creates the endpoint's row.
			first, err := out.Dispatcher.Store.Find(t.Context(), webhook.Search{PartnerID: 1, Reload: true})
			if err != nil {
				t.Fatal(err)
			}
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`UPDATE outbox SET attempts = 1, due_at = $1 WHERE event_id = 4`, start.Add(time.Hour))
				tx.Queue(`UPDATE outbox SET due_at = $1, not_before = $1 WHERE event_id = 5`, start.Add(time.Hour))
				if c.set != "" {
					tx.Queue(c.set)
				}
			})
			c.q.PartnerID, c.q.To = 1, first.To
			found, err := out.Dispatcher.Store.Find(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, it := range found.Items {
				ids = append(ids, it.EventID)
				same(t, "a probe", it.Probe, c.probe)
				same(t, "what is sent", it.Body != "", true)
			}
			same(t, "found", ids, c.want)
			same(t, "due", found.Due, c.due)
			same(t, "more", found.More, c.more)
		})
	}
}

// If nothing else is due, a delivery behind a waiting event is delayed, so that no poll finds it
// again.
func TestNothingIsDue(t *testing.T) {
	r := steppedHarness(t)
	r.partner(1, newGate(t).ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	r.event(r.out, 1)
	r.write(putOff(1, start.Add(time.Hour)))
	out := r.stepped(settings{})
	found, err := out.Dispatcher.Store.Find(t.Context(), webhook.Search{PartnerID: 1, Reload: true, Due: true, Space: 9})
	if err != nil || len(found.Items) != 0 {
		t.Errorf("found %v, %v", found.Items, err)
	}
	same(t, "waits", r.waits(), []string{"1 in 1h0m0s", "2 in 1h0m0s"})
}

// A delivery cut off under a lost claim is not delayed.
func TestNothingIsPutOffWithoutAClaim(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite no claim is lost")
	}
	r := steppedHarness(t)
	r.partner(1, newGate(t).ServeHTTP)
	r.license(1, 1)
	out := r.manual(settings{})
	r.event(r.out, 1)
	claim, _ := out.Dispatcher.Store.Node.Claim(cluster.ShardOf(1))
	lost := claim
	lost.Epoch++
	for _, c := range []struct {
		claim cluster.Claim
		want  string
	}{{lost, "1 in 0s"}, {claim, "1 in 1m0s"}} {
		if err := out.Dispatcher.Store.PutOff(t.Context(), c.claim, []int64{1}, time.Minute); err != nil {
			t.Fatal(err)
		}
		same(t, "waits", r.waits(), []string{c.want})
	}
}

// An endpoint has a row from the first search on, unless it has neither a URL nor deliveries: its
// partner may have been removed.
func TestEndpointsHaveARow(t *testing.T) {
	for name, c := range map[string]struct {
		url, sold bool
		want      int64
	}{
		"with a URL": {true, false, 1}, "with deliveries": {false, true, 1}, "with neither": {false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			r.partner(1, nil)
			if c.url {
				r.point(1, newGate(t).ServeHTTP)
			}
			r.license(1, 1)
			if c.sold {
				r.event(r.out, 1)
			}
			out := r.stepped(settings{})
			if _, err := out.Dispatcher.Store.Find(t.Context(), webhook.Search{PartnerID: 1, Reload: true}); err != nil {
				t.Fatal(err)
			}
			same(t, "rows", r.count(`SELECT count(*) FROM endpoints`), c.want)
		})
	}
}
