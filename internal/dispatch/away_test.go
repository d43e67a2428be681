package dispatch_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

// fill makes the database's disk full for long answers.
func (r *harness) fill() {
	r.Helper()
	r.write(func(tx *sqldb.Tx) {
		if sqldbtest.Postgres() {
			tx.Queue(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$`)
			tx.Queue(`CREATE TRIGGER full_disk BEFORE INSERT ON webhook_responses EXECUTE FUNCTION full_disk()`)
			return
		}
		tx.Queue(`CREATE TABLE filling AS SELECT zeroblob(4194304) AS x`) // fills the free pages
		tx.Queue(`PRAGMA max_page_count = 1`)                             // the current number
	})
}

// empty frees the disk again.
func (r *harness) empty() {
	r.Helper()
	r.write(func(tx *sqldb.Tx) {
		if sqldbtest.Postgres() {
			tx.Queue(`DROP TRIGGER full_disk ON webhook_responses`)
		} else {
			tx.Queue(`PRAGMA max_page_count = 1000000`)
		}
	})
}

// answered gives answers for events to the recorder of a dispatcher.
func answered(out *outbox, events ...int64) {
	for _, id := range events {
		out.Dispatcher.Answer(webhook.Attempt{
			Item: &webhook.Item{EventID: id, PartnerID: 1, LicenseID: id}, To: &webhook.Destination{},
			At: now(), Outcome: webhook.Outcome{OK: true, Status: 200, Answer: strings.Repeat("x", 1<<16)}, Finished: true,
		})
	}
}

const (
	noRecord = "record the answers to webhooks"
	givenUp  = "cannot be recorded"
)

// While the database cannot store answers, they stay unchanged and are retried, quickly at first
// and then every second. This logs two lines.
func TestAnswersWaitForTheDatabase(t *testing.T) {
	url := sqldbtest.URL(t)
	synctest.Test(t, func(t *testing.T) {
		r, log := harnessAt(t, url), &journal{}
		r.partner(1, nil)
		r.license(1, 1, 2)
		r.event(r.out, 1)
		r.event(r.out, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun := time.Now()
		var asked []time.Duration // calls of now: by each try, and by the log lines
		out := r.node(settings{log: log, now: func() time.Time {
			if asked = append(asked, time.Since(begun)); len(asked) > 20 {
				cancel() // it retries without a pause
			}
			return now()
		}})
		r.fill()
		answered(out, 1, 2)
		done := make(chan struct{})
		go func() {
			defer close(done)
			out.Dispatcher.Record(ctx)
		}()
		time.Sleep(4 * time.Second)
		same(t, "attempts", r.attempts(), 0)
		r.empty()
		<-done
		const ms = time.Millisecond
		same(t, "tried", slices.Compact(asked), []time.Duration{
			0, 10 * ms, 30 * ms, 70 * ms, 150 * ms, 310 * ms, 630 * ms, 1270 * ms, 2270 * ms, 3270 * ms, 4270 * ms,
		})
		same(t, "attempts", r.count(`SELECT count(*) FROM webhook_responses WHERE length(response_body) = 65536`), 2)
		same(t, "begun", len(log.lines("level=ERROR", noRecord)), 1)
		same(t, "over", len(log.lines("level=INFO", "trouble is over", noRecord, "lasted=4.27s")), 1)
		same(t, "errors", len(log.lines("level=ERROR")), 1)
	})
}

// Nor does the recorder give up an answer while the database does not respond at all, with any
// error.
func TestAnswersWaitForADatabaseThatIsGone(t *testing.T) {
	url := sqldbtest.URL(t)
	synctest.Test(t, func(t *testing.T) {
		r, log := harnessAt(t, url), &journal{}
		out := r.node(settings{log: log})
		if err := out.DB.Close(); err != nil {
			t.Fatal(err)
		}
		answered(out, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		out.Dispatcher.Record(ctx)
		same(t, "tried for", time.Since(begun), time.Hour)
		same(t, "begun", len(log.lines("level=ERROR", noRecord)), 1)
		same(t, "given up", log.lines(givenUp), nil)
	})
}
