package dispatch_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// The answer under a lost claim is stored as an attempt, and its delivery does not change,
// regardless of the shard's current owner.
func TestAnAnswerUnderALostClaim(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite no claim is lost")
	}
	for name, owner := range map[string]string{"to another node": `'another'`, "and claimed again": `node`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.stepped(settings{times: hasty})
			r.run(out)
			c := g.next()
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`UPDATE shards SET epoch = epoch + 1, node = `+owner+` WHERE shard = $1`, cluster.ShardOf(1))
			})
			r.finish(200, c)
			same(t, "states", r.states(), []string{"1 pending after 0"})
		})
	}
}

// An event of another node with a wrong clock, with a message that overtakes that of the event
// before it, is sent immediately and in order.
func TestMessagesOfTwoNodesCross(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": 5 * time.Second, "behind": -5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			e := &endpoint{TB: t}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1)
			out := r.node(settings{})
			r.run(out)
			alone := silent(out.DB, now)
			skewed := silent(out.DB, func() time.Time { return now().Add(off) })
			for i := range int64(5) {
				r.event(skewed, 1)
				r.event(alone, 1)
				out.Dispatcher.Hear("1:1") // of the second, then of the first
				out.Dispatcher.Hear("1:1")
				r.until("both are delivered", func() bool { return r.open() == 0 })
				same(t, "got", e.taken(), []int64{2*i + 1, 2*i + 2})
			}
		})
	}
}

// A change of an endpoint is noticed without a message, by the version in its row.
func TestActsWhoseMessageIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(r *harness, silent *outbox, to *endpoint)
		want []int64 // events for the new endpoint
	}{
		"a redelivery": {func(r *harness, silent *outbox, _ *endpoint) { r.redeliver(silent, 1) }, []int64{1}},
		"another URL": {func(r *harness, silent *outbox, to *endpoint) {
			r.point(1, to.ServeHTTP)
			r.write(func(tx *sqldb.Tx) { silent.Unpark(tx, 1) })
			r.event(silent, 1)
		}, []int64{2}},
		"a secret, or the end of a pause": {func(r *harness, silent *outbox, to *endpoint) {
			r.point(1, to.ServeHTTP)
			r.write(func(tx *sqldb.Tx) { silent.Touch(tx, 1) })
			r.event(silent, 1)
		}, []int64{2}},
		"a URL after none": {func(r *harness, silent *outbox, to *endpoint) {
			r.point(1, nil)
			r.write(func(tx *sqldb.Tx) { silent.Touch(tx, 1) })
			r.event(silent, 1)
			r.until("it is known to have none", func() bool { return r.count(`SELECT count(*) FROM endpoints WHERE closed = TRUE`) == 1 })
			r.point(1, to.ServeHTTP)
			r.write(func(tx *sqldb.Tx) { silent.Unpark(tx, 1) })
		}, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			old, to := &endpoint{TB: t}, &endpoint{TB: t}
			r.partner(1, old.ServeHTTP)
			r.license(1, 1)
			out, _ := r.running(settings{})
			r.event(out, 1)
			r.until("the lane is in use", func() bool { return r.open() == 0 })
			before := old.taken()
			c.act(r, silent(out.DB, now), to)
			r.until("it is delivered", func() bool { return r.open() == 0 })
			got := append(old.taken(), to.taken()...)
			same(t, "got", got, c.want)
			same(t, "before", before, []int64{1})
		})
	}
}

// An endpoint that changes while it is loaded is loaded again before anything is sent to it.
func TestAnEndpointChangedWhileItIsLoaded(t *testing.T) {
	r := newHarness(t)
	old, to := &endpoint{TB: t}, &endpoint{TB: t}
	r.partner(1, old.ServeHTTP)
	r.license(1, 1, 2)
	out := r.node(settings{})
	lookUp := out.Dispatcher.Store.Endpoint
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	out.Dispatcher.Store.Endpoint = func(ctx context.Context, id int64) (webhook.Endpoint, error) {
		e, err := lookUp(ctx, id)
		once.Do(func() { close(asked); <-answer })
		return e, err
	}
	r.run(out)
	r.event(out, 1)
	<-asked
	r.point(1, to.ServeHTTP)
	r.reload(out, 1)
	r.event(out, 2)
	close(answer)
	r.until("all are delivered", func() bool { return r.open() == 0 })
	same(t, "what the old URL got", old.list(), []int64{})
	got := to.list()
	slices.Sort(got)
	same(t, "what the new URL got", got, []int64{1, 2})
}

// A delay that the endpoint asked for survives its recovery, but not a new URL.
func TestRetryAfterSurvivesDraining(t *testing.T) {
	for name, moved := range map[string]bool{"when the endpoint is back": false, "but not for another URL": true} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			e := &endpoint{TB: t, all: 503, header: http.Header{"Retry-After": {"7200"}}}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1, 2, 3)
			out := r.stepped(settings{schedule: hourly, probeEvery: time.Minute})
			r.event(out, 1)
			r.step(out)
			e.header = nil
			e.answer(410)
			r.event(out, 2)
			r.step(out) // parks it
			r.event(out, 3)
			e.answer(200)
			if moved {
				r.write(func(tx *sqldb.Tx) { out.Unpark(tx, 1) })
			} else {
				r.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE endpoints SET probe_at = 0, probed = 1`) })
			}
			r.step(out)
			want := []string{"1 pending after 1", "2 delivered after 2", "3 delivered after 1"}
			if moved {
				want[0] = "1 delivered after 2"
			}
			same(t, "states", r.states(), want)
			r.clock.step(2*time.Hour + time.Second)
			r.step(out)
			same(t, "open", r.open(), 0)
		})
	}
}

// A thousand lanes get more than fits into memory while nothing is recorded. Only the recorder
// blocks progress; when it continues, everything is delivered.
func TestManyLanesAndABlockedRecorder(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	const partners, most = 1000, 300
	server := r.serve(e.ServeHTTP)
	for p := range int64(partners) {
		r.partnerAt(p+1, server)
	}
	r.store(partners, partners, 2*partners)
	out := r.node(settings{times: hasty})
	out.Dispatcher.Limit(most, most)
	stop := r.runNode(out) // no recorder
	r.poll(out)
	r.until("as many as may be are sent", func() bool { return len(e.list()) == most })
	for p := range int64(partners) {
		for range 20 {
			out.Dispatcher.Hint(p+1, p+1)
		}
	}
	r.poll(out)
	if n := out.Dispatcher.Counts().Held; n > most {
		t.Errorf("%d deliveries are in memory, more than %d", n, most)
	}
	stop() // unrecorded answers are left
	r.run(out)
	r.until("all are delivered", func() bool { return r.open() == 0 })
}

// Saving a URL and recording the first success take locks in the same order.
func TestAURLIsSavedWhileASuccessIsRecorded(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("on SQLite nothing runs side by side")
	}
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at)
			VALUES (1, $1, 0, '', 0, 0, 0, 0)`, r.endpoints[1].URL)
	})
	out := r.node(settings{})
	r.run(out)
	once := sqldbtest.OpenWith(t, r.url, sqldb.Options{NoRetry: true})
	for range 100 {
		r.event(out, 1)
		err := once.Write(t.Context(), func(tx *sqldb.Tx) error { // as profile does
			out.Unpark(tx, 1)
			_, err := tx.Exec(t.Context(), `UPDATE profiles SET webhook_valid_at = 0 WHERE partner_id = 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.until("all are delivered", func() bool { return r.open() == 0 })
}

// The partner's setting limits its requests, otherwise the setting for all.
func TestInFlightIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ all, partner, want int }{
		"for all": {3, 0, 3}, "to one": {1, 0, 1}, "for the partner": {3, 2, 2}, "for the partner, higher": {2, 4, 4}, "by nothing but its pace": {0, 0, dispatch.FirstInFlight},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := newHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.aim(1, func(e *webhook.Endpoint) { e.InFlight = c.partner })
			r.store(1, 20, 20)
			out, _ := r.running(settings{inFlight: c.all, times: hasty})
			g.callers(c.want)
			r.until("the rest is in memory", func() bool { return out.Dispatcher.Counts().Held == 20 })
			r.poll(out)
			g.nobody("past what is set")
		})
	}
}

// Consecutive searches find everything due, even far more than a lane may hold in memory: nothing
// is left to the next poll.
func TestOnePollIsEnough(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	const n = 3000
	r.store(1, n, n)
	out := r.node(settings{times: hasty})
	ctx, end := context.WithCancel(t.Context())
	var recording sync.WaitGroup
	recording.Go(func() { out.Dispatcher.RunRecorder(ctx) })
	stop := r.runNode(out)
	r.poll(out)
	r.until("all are delivered", func() bool { return r.open() == 0 })
	stop()
	end()
	recording.Wait()
	same(t, "requests", len(e.list()), n)
}
