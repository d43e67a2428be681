package redelivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

var (
	tester = audit.System("test")
	member = audit.Actor{Kind: audit.ByUser, ID: 7}
	start  = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
)

const batch = 250

// harness is a database with delivered events, and jobs that use its clock.
type harness struct {
	testing.TB
	db   *sqldb.DB
	now  time.Time
	jobs *redelivery.Store
}

func newHarness(t *testing.T) *harness {
	h := &harness{TB: t, db: sqldbtest.Open(t), now: start.Add(24 * time.Hour)}
	clock := func() time.Time { return h.now }
	h.jobs = &redelivery.Store{DB: h.db, Now: clock, Outbox: &webhook.Outbox{DB: h.db, Now: clock}}
	return h
}

func (h *harness) write(fn func(tx *sqldb.Tx)) {
	h.Helper()
	if err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
		h.Fatal(err)
	}
}

// partner creates a partner with delivered events, one per license, a second apart.
func (h *harness) partner(id int64, first, events int) {
	h.Helper()
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) VALUES ($1, '', '', $2, $3, $3, 0, 0)`,
			id, fmt.Sprint(id), false)
		for i := first; i < first+events; i++ {
			at := start.Add(time.Duration(i) * time.Second)
			h.jobs.Outbox.Enqueue(tx, webhook.Notice{
				EventID: int64(i), PartnerID: id, LicenseID: int64(i), LicenseKey: fmt.Sprint(i), Kind: 1, Event: "purchase", At: at, CreatedAt: at, First: true,
			})
		}
		tx.Queue(`DELETE FROM outbox`)
	})
}

// exhaust gives events up.
func (h *harness) exhaust(ids ...int64) {
	h.Helper()
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at)
			SELECT event_id, partner_id, license_id, 3, 9, 0, created_at, created_at FROM deliveries WHERE event_id = ANY($1)`, ids)
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
			SELECT event_id, '', 500, '', 3, '', $2, created_at, created_at FROM deliveries WHERE event_id = ANY($1)`, ids, false)
	})
}

func (h *harness) open() int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM outbox WHERE state = 1`)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

func (h *harness) begin(by audit.Actor, partnerID int64, f history.Filter, rate int) redelivery.Job {
	h.Helper()
	j, err := h.jobs.Begin(h.Context(), by, redelivery.Request{PartnerID: partnerID, Filter: f, Rate: rate})
	if err != nil {
		h.Fatal(err)
	}
	return j
}

// once makes one node work once.
func (h *harness) once() bool {
	h.Helper()
	worked, err := (&redelivery.Worker{Store: h.jobs}).Once(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return worked
}

func (h *harness) last(partnerID int64) redelivery.Job {
	h.Helper()
	j, err := h.jobs.Last(h.Context(), partnerID)
	if err != nil {
		h.Fatal(err)
	}
	return j
}

// TestJobIsWorkedOffInBatches: the request does the first batch, Worker the others. Each moves
// the cursor in its own transaction, so that any node can continue. Meanwhile a second job is
// refused.
func TestJobIsWorkedOffInBatches(t *testing.T) {
	const events = 620
	h := newHarness(t)
	h.partner(1, 1, events)
	j := h.begin(tester, 1, history.Filter{From: start}, 0)
	if !j.Open() || j.Count != batch || j.Expected != events || h.open() != batch {
		t.Fatalf("at first: %+v; %d are open", j, h.open())
	}
	if _, err := h.jobs.Begin(t.Context(), tester, redelivery.Request{PartnerID: 1}); !fault.Is(err, "redelivery_running") {
		t.Errorf("a second one: %v", err)
	}
	for _, want := range []struct {
		worked bool
		count  int64
		open   bool
	}{{true, 2 * batch, true}, {true, events, false}, {false, events, false}} {
		worked, last := h.once(), h.last(1)
		if worked != want.worked || last.Count != want.count || last.Open() != want.open || h.open() != want.count || last.Looked != want.count {
			t.Errorf("got %v, %+v; want %+v", worked, last, want)
		}
	}
	if j := h.begin(tester, 1, history.Filter{From: start}, 0); j.Count != 0 || !j.Open() {
		t.Errorf("another one, while all are open: %+v", j)
	}
}

// TestJobsOfPartnersTakeTurns: a long job does not delay another partner's.
func TestJobsOfPartnersTakeTurns(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 1100)
	h.partner(2, 2001, 400)
	for _, id := range []int64{1, 2} {
		h.begin(tester, id, history.Filter{From: start}, 0)
		h.now = h.now.Add(time.Second)
	}
	for range 2 {
		if !h.once() {
			t.Fatal("there was nothing to do")
		}
		h.now = h.now.Add(time.Second)
	}
	for id, open := range map[int64]bool{1: true, 2: false} {
		if last := h.last(id); last.Open() != open {
			t.Errorf("partner %d: %+v; want open: %v", id, last, open)
		}
	}
}

// TestJobRunsOnce: nodes that work at the same time queue each event once.
func TestJobRunsOnce(t *testing.T) {
	const events = 1100
	h := newHarness(t)
	h.partner(1, 1, events)
	h.begin(tester, 1, history.Filter{From: start}, 0)
	ctx, cancel := context.WithCancel(t.Context())
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			(&redelivery.Worker{Store: h.jobs, Every: time.Millisecond, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		})
	}
	for h.last(1).Open() {
	}
	cancel()
	nodes.Wait()
	if last := h.last(1); last.Count != events {
		t.Errorf("%d events were queued", last.Count)
	}
}

// TestPlan: the events of a job are counted first, with an estimated duration.
func TestPlan(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 300)
	h.exhaust(10, 20, 30)
	for name, c := range map[string]struct {
		filter history.Filter
		want   redelivery.Plan
	}{
		"all":      {history.Filter{}, redelivery.Plan{Count: 300, Rate: 10, Estimate: 30 * time.Second}},
		"failures": {history.Filter{State: history.Failed}, redelivery.Plan{Count: 3, Rate: 10, Estimate: 300 * time.Millisecond}},
		"a span":   {history.Filter{State: history.Failed, From: start.Add(15 * time.Second), To: start.Add(25 * time.Second)}, redelivery.Plan{Count: 1, Rate: 10, Estimate: 100 * time.Millisecond}},
		"a code":   {history.Filter{Codes: history.Codes{Set: true, Low: 400, High: 499}}, redelivery.Plan{Rate: 10}},
	} {
		if got, err := h.jobs.Plan(t.Context(), redelivery.Request{PartnerID: 1, Filter: c.filter, Rate: 10}); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if got, err := h.jobs.Plan(t.Context(), redelivery.Request{PartnerID: 2, Rate: 10}); err != nil || got.Count != 0 {
		t.Errorf("another partner: %+v, %v", got, err)
	}
}

// TestRate: a job makes no more events due than its rate allows.
func TestRate(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 100)
	j := h.begin(tester, 1, history.Filter{From: start}, 40)
	for _, want := range []int64{40, 80, 100} {
		if j.Count != want {
			t.Fatalf("%d events are queued, want %d", j.Count, want)
		}
		h.now = h.now.Add(999 * time.Millisecond)
		if h.once() {
			t.Fatal("it went on before its time")
		}
		h.now = h.now.Add(time.Millisecond)
		h.once()
		j = h.last(1)
	}
	if j.Open() {
		t.Errorf("it is not done: %+v", j)
	}
}

// TestPauseAndCancel: a paused job waits and then continues; a cancelled one ends, and its queued
// events stay.
func TestPauseAndCancel(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 900)
	j := h.begin(tester, 1, history.Filter{From: start}, 0)
	act := func(do func(context.Context, audit.Actor, int64, int64) (redelivery.Job, error), want redelivery.Status) {
		t.Helper()
		got, err := do(t.Context(), tester, 1, j.ID)
		if err != nil || got.Status() != want || h.last(1).Status() != want {
			t.Errorf("got %+v, %v; want %s", got, err, want)
		}
	}
	act(h.jobs.Pause, redelivery.Paused)
	act(h.jobs.Pause, redelivery.Paused)
	if h.once() || h.open() != batch {
		t.Error("a paused job went on")
	}
	act(h.jobs.Resume, redelivery.Running)
	if !h.once() || h.open() != 2*batch {
		t.Error("a resumed job did not go on")
	}
	act(h.jobs.Cancel, redelivery.Stopped)
	if h.once() || h.open() != 2*batch {
		t.Error("a cancelled job went on")
	}
	if _, err := h.jobs.Resume(t.Context(), tester, 1, j.ID); !fault.Is(err, "redelivery_done") {
		t.Errorf("resuming a cancelled job: %v", err)
	}
	for _, do := range []func(context.Context, audit.Actor, int64, int64) (redelivery.Job, error){h.jobs.Pause, h.jobs.Resume, h.jobs.Cancel} {
		if _, err := do(t.Context(), tester, 2, j.ID); !fault.Is(err, "unknown_redelivery") {
			t.Errorf("the job of another partner: %v", err)
		}
	}
	actions, err := sqldb.All(t.Context(), h.db, sqldb.Value[string], `SELECT action FROM audit_entries ORDER BY id`)
	if want := "partner.redeliver partner.redeliver_pause partner.redeliver_resume partner.redeliver_cancel"; err != nil || strings.Join(actions, " ") != want {
		t.Errorf("the audit has %q, %v", actions, err)
	}
}

// TestPausedJobHoldsNobodyUp: another partner's job continues while one that waited longer is
// paused.
func TestPausedJobHoldsNobodyUp(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 600)
	h.partner(2, 2001, 600)
	j := h.begin(tester, 1, history.Filter{From: start}, 0)
	if _, err := h.jobs.Pause(t.Context(), tester, 1, j.ID); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(time.Second)
	h.begin(tester, 2, history.Filter{From: start}, 0)
	if !h.once() || h.last(2).Count != 2*batch || h.last(1).Count != batch {
		t.Errorf("the paused one has %d events, the other %d", h.last(1).Count, h.last(2).Count)
	}
}

// TestJobOfAMember: each batch checks the role of the job's starter.
func TestJobOfAMember(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   string
	}{
		"stays":       {`UPDATE members SET role = 'admin'`, ""},
		"removed":     {`DELETE FROM members`, "no longer a member"},
		"viewer":      {`UPDATE members SET role = 'viewer'`, "their role is viewer"},
		"unknownRole": {`UPDATE members SET role = 'x'`, "their role is x"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.partner(1, 1, 600)
			h.write(func(tx *sqldb.Tx) {
				tx.Queue(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES (1, $1, 'developer', 0)`, member.ID)
			})
			h.begin(member, 1, history.Filter{From: start}, 0)
			h.write(func(tx *sqldb.Tx) { tx.Queue(c.change) })
			h.once()
			last := h.last(1)
			if c.want == "" && (last.Stopped != "" || last.Count != 2*batch) || !strings.Contains(last.Stopped, c.want) {
				t.Errorf("got %+v", last)
			}
			if c.want != "" && (last.Count != batch || last.Status() != redelivery.Stopped || h.open() != batch) {
				t.Errorf("it went on: %+v", last)
			}
		})
	}
}

// TestJobOfACause: a job for one cause of no answer sends only deliveries with that cause.
func TestJobOfACause(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 50)
	h.exhaust(10, 20, 30, 40)
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE webhook_responses SET response_status = 0, response_body = 'there was no answer within 10s' WHERE event_id = ANY($1)`, []int64{10, 20})
		tx.Queue(`UPDATE webhook_responses SET response_status = 0, response_body = 'the connection was refused; is the server running on that port?'
			WHERE event_id = ANY($1)`, []int64{30, 40})
		tx.Queue(`DELETE FROM outbox WHERE event_id = ANY($1)`, []int64{20, 40}) // delivered before
	})
	timeout, ok := history.ParseCodes("timeout")
	if !ok {
		t.Fatal("timeout is no cause")
	}
	j := h.begin(tester, 1, history.Filter{State: history.Failed, Codes: timeout}, redelivery.DefaultRate)
	if j.Count != 1 || j.Skipped != 0 || j.Expected != 1 || j.Status() != redelivery.Done {
		t.Errorf("got %+v", j)
	}
	if got := h.last(1).Filter.Codes; got != timeout {
		t.Errorf("the job is stored with %+v", got)
	}
	open, err := sqldb.All(t.Context(), h.db, sqldb.Value[int64], `SELECT event_id FROM outbox WHERE state = 1`)
	if err != nil || len(open) != 1 || open[0] != 10 {
		t.Errorf("sent are %v, %v", open, err)
	}
}
