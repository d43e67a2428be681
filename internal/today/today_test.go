package today_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/backups"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/today"
)

// at is the time of the tests.
var at = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// harness is the service without running jobs, with a completely set-up partner.
type harness struct {
	*apptest.Harness
	tide partner.Partner
}

func start(t *testing.T) *harness {
	t.Helper()
	h := &harness{Harness: apptest.New(t)}
	h.Today.Now = func() time.Time { return at }
	h.Today.Disk = func() (sqldb.Disk, bool) { return sqldb.Disk{}, false }
	h.tide = h.partner("Tide Planner")
	return h
}

// partner creates a partner with a complete setup.
func (h *harness) partner(name string) partner.Partner {
	h.Helper()
	p, _ := h.Partner(name, profile.URLs{Redirect: "https://tide.example/back", Webhook: "https://tide.example/hook"})
	h.Plans(p.ID, 1, partner.Plan{PriceCents: 4900, Currency: "USD"})
	_, err := h.Profiles.AddContact(h.Context(), apptest.Tester, p.ID, "Ops", fmt.Sprintf("ops@%d.example", p.ID))
	h.Must(err)
	h.Exec(`UPDATE profiles SET redirect_valid_at = 1, webhook_valid_at = 1 WHERE partner_id = $1`, p.ID)
	return p
}

// sell sells licenses of Tide and sets the due time of their events.
func (h *harness) sell(n int, due time.Time) {
	h.Helper()
	h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: n, Buyer: &account.Person{Email: "ann@buyer.example"}, ExternalID: fmt.Sprint("order-", n)})
	h.Exec(`UPDATE outbox SET due_at = $1, created_at = $2`, due, at.Add(-time.Hour))
}

// fails makes the endpoint of Tide fail since a time, and parks it if parked is not zero.
func (h *harness) fails(since, parked time.Time) {
	h.Helper()
	h.Exec(`DELETE FROM endpoints WHERE partner_id = $1`, h.tide.ID)
	h.Exec(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at, last_error)
		VALUES ($1, $2, 3, $3, $4, 0, $2, 'the answer was 410')`, h.tide.ID, since, parked, at.Add(time.Minute))
}

// mail puts an email into the outbox.
func (h *harness) mail(due time.Time) {
	h.Helper()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		box := *h.Mail
		box.Wake = nil
		box.Put(tx, mail.Message{Cause: "test:1", To: "ops@tide.example", Subject: "Webhooks fail", Text: "They fail.", Lasting: true}, due)
		return nil
	}))
}

// job records a run of a job.
func (h *harness) job(next, failedSince time.Time, problem string) {
	h.Helper()
	h.Exec(`INSERT INTO job_runs (job, node, began_at, took_us, next_at, succeeded_at, failed_since, error) VALUES ('exports', 'one', $1, 1, $2, 0, $3, $4)`,
		at.Add(-time.Hour), next, failedSince, problem)
}

// dispute adds a dispute about a payment for Tide, and its problem if it is an inquiry.
func (h *harness) dispute(status string, due time.Time) {
	h.Helper()
	h.Exec(`INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency, user_id, license_key, state, session_id,
			session_url, intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at, paid_at, updated_at, next_at)
		VALUES ('co_1', $1, 1, 'One', 'Tide, One', 4900, 'USD', 4900, 'USD', 1, '', 3, 'cs_1', '', 'pi_1', 1, 0, $3, 0, $2, $2, $2, $2, 0)`, h.tide.ID, at, false)
	h.Exec(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at, due_by)
		SELECT 'dp_1', id, 4900, 'USD', $1, $2, $3, $3, 1, $4 FROM checkouts`, status, false, at.Add(-time.Hour), due)
	if strings.HasPrefix(status, "warning") {
		h.Exec(`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at)
			VALUES ('inquiry_opened', 'dp_1', 1, $1, 'pi_1', 4900, 'USD', $2, 0)`, h.tide.ID, at)
	}
}

// backup stores when the last backup was made.
func (h *harness) backup(made time.Time) {
	h.Helper()
	h.Must(backups.Record(h.Context(), h.DB, made, at))
}

// none is a time that is not set.
var none time.Time

// TestKinds: each kind of item is listed with the necessary facts when its condition holds, and not
// when it nearly does.
func TestKinds(t *testing.T) {
	ago := func(d time.Duration) time.Time { return at.Add(-d) }
	for name, c := range map[string]struct {
		set  func(h *harness)
		want string // kind, partner, subject, since, until, count, text; "" for no item
	}{
		"nothing":                 {func(*harness) {}, ""},
		"deliveries that are due": {func(h *harness) { h.sell(1, ago(2*time.Minute)) }, "queue_old  deliveries -2m0s - 0 "},
		"deliveries just due":     {func(h *harness) { h.sell(1, ago(time.Minute)) }, ""},
		"mails that are due":      {func(h *harness) { h.mail(ago(2 * time.Minute)) }, "queue_old  mails -2m0s - 0 "},
		"mails just due":          {func(h *harness) { h.mail(ago(time.Minute)) }, ""},
		"an endpoint that fails":  {func(h *harness) { h.sell(3, at.Add(time.Hour)); h.fails(ago(time.Hour), none) }, "endpoint_failing Tide Planner  -1h0m0s 1m0s 3 the answer was 410"},
		"a parked endpoint":       {func(h *harness) { h.sell(2, ago(time.Hour)); h.fails(ago(time.Hour), ago(time.Minute)) }, "endpoint_parked Tide Planner  -1h0m0s 1m0s 2 the answer was 410"},
		"events that were given up": {func(h *harness) {
			h.sell(3, none)
			h.Exec(`UPDATE outbox SET state = CASE WHEN event_id = 1 THEN 4 ELSE 3 END`)
		}, "events_given_up Tide Planner  -1h0m0s - 3 2 exhausted, 1 superseded"},
		"buyers who cannot redeem":    {func(h *harness) { h.sell(2, at.Add(time.Hour)); h.Exec(`UPDATE profiles SET redirect_url = ''`) }, "cannot_redeem Tide Planner  - - 2 "},
		"no redirect URL, and no one": {func(h *harness) { h.Exec(`UPDATE profiles SET redirect_url = ''`) }, ""},
		"a mail that was given up": {func(h *harness) {
			h.mail(at.Add(time.Hour))
			h.Exec(`UPDATE mails SET state = 3, attempts = 9, error = 'no such mailbox', created_at = $1`, ago(time.Hour))
		}, "mail_given_up  1 -1h0m0s - 9 ops@tide.example: Webhooks fail (no such mailbox)"},
		"a job that failed":            {func(h *harness) { h.job(at.Add(time.Hour), ago(time.Minute), "no space") }, "job_failed  exports -1m0s - 0 no space"},
		"a job that stands still":      {func(h *harness) { h.job(ago(6*time.Minute), none, "") }, "job_failed  exports -1h0m0s - 0 It has not run since."},
		"a job that is a little late":  {func(h *harness) { h.job(ago(4*time.Minute), none, "") }, ""},
		"an old backup":                {func(h *harness) { h.backup(ago(37 * time.Hour)) }, "backup_old   -37h0m0s - 0 "},
		"a backup of yesterday":        {func(h *harness) { h.backup(ago(36 * time.Hour)) }, ""},
		"an old backup that is rare":   {func(h *harness) { h.Today.BackupEvery = 48 * time.Hour; h.backup(ago(72 * time.Hour)) }, ""},
		"a webhook URL not validated":  {func(h *harness) { h.Exec(`UPDATE profiles SET webhook_valid_at = 0`) }, "url_unproven Tide Planner webhook_url - - 0 "},
		"a redirect not validated":     {func(h *harness) { h.Exec(`UPDATE profiles SET redirect_valid_at = 0`) }, "url_unproven Tide Planner redirect_url - - 0 "},
		"an open dispute":              {func(h *harness) { h.dispute("needs_response", at.Add(time.Hour)) }, "dispute_open Tide Planner dp_1 -1h0m0s 1h0m0s 4900 $49.00. The buyer's bank waits for your evidence."},
		"an inquiry":                   {func(h *harness) { h.dispute("warning_needs_response", none) }, "dispute_open Tide Planner dp_1 -1h0m0s - 4900 $49.00. The buyer's bank asks about the payment, which may become a dispute; nothing is on hold."},
		"a dispute after its deadline": {func(h *harness) { h.dispute("needs_response", at) }, "dispute_open Tide Planner dp_1 -1h0m0s 0s 4900 $49.00. The deadline has passed without evidence."},
		"a dispute under review":       {func(h *harness) { h.dispute("under_review", at.Add(time.Hour)) }, "dispute_open Tide Planner dp_1 -1h0m0s 1h0m0s 4900 $49.00. The evidence was sent, and the bank decides."},
		"a dispute that was won":       {func(h *harness) { h.dispute("won", at.Add(time.Hour)) }, ""},
		"a license that was refunded but still works": {func(h *harness) {
			h.sell(1, at.Add(time.Hour))
			h.Exec(`UPDATE licenses SET license_key = '0b7c7a2e-5c1f-4d0b-9f5e-3a1c2d4e5f60'`)
			h.Exec(`INSERT INTO refunded_but_working (license_id) SELECT id FROM licenses`)
		}, "refunded_working Tide Planner 0b7c7a2e-5c1f-4d0b-9f5e-3a1c2d4e5f60 - - 0 "},
		"one that has ended since": {func(h *harness) {
			h.sell(1, at.Add(time.Hour))
			h.Exec(`INSERT INTO refunded_but_working (license_id) SELECT id FROM licenses`)
			h.Exec(`UPDATE licenses SET ended = TRUE`)
		}, ""},
		"sales that are not divided": {
			func(h *harness) {
				h.Exec(`INSERT INTO ledger_balances (partner_id, account, currency, amount) SELECT id, 'undivided', 'EUR', -4900 FROM partners`)
			},
			"undivided Tide Planner EUR - - 4900 49.00 EUR is not divided.",
		},
		"sales that are divided by now": {
			func(h *harness) {
				h.Exec(`INSERT INTO ledger_balances (partner_id, account, currency, amount) SELECT id, 'undivided', 'EUR', 0 FROM partners`)
			}, "",
		},
		"no contacts": {func(h *harness) { h.Exec(`DELETE FROM contacts`) }, "no_contacts Tide Planner  - - 0 "},
		"a paused partner needs none": {func(h *harness) {
			h.sell(2, ago(time.Hour))
			h.fails(ago(time.Hour), ago(time.Minute))
			h.Exec(`DELETE FROM contacts`)
			h.Exec(`UPDATE profiles SET redirect_url = '', webhook_valid_at = 0`)
			_, _, err := h.Profiles.Pause(h.Context(), apptest.Tester, h.tide.ID, "unpaid")
			h.Must(err)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			c.set(h)
			report, err := h.Today.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, g := range report.Groups {
				for _, i := range g.Items {
					got += line(i)
				}
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// line describes an item; times are relative to now.
func line(i today.Item) string {
	span := func(at2 time.Time) string {
		if at2.IsZero() {
			return "-"
		}
		return at2.Sub(at).String()
	}
	return fmt.Sprintf("%s %s %s %s %s %d %s", i.Kind, i.Partner, i.Subject, span(i.Since), span(i.Until), i.Count, i.Text)
}

// TestKeyEnds: a key that has signed for eleven months is listed, a month before its year ends.
func TestKeyEnds(t *testing.T) {
	h := start(t)
	h.Must(h.OAuth.Keys.Prepare(t.Context()))
	for days, want := range map[int]int{334: 0, 336: 1} {
		h.Exec(`UPDATE oauth_keys SET activates_at = $1 WHERE activates_at <> 0 AND alg = 'RS256'`, h.OAuth.Keys.Now().Add(-time.Duration(days)*24*time.Hour))
		report, err := h.Today.Read(t.Context())
		if err != nil || len(report.Groups) != want {
			t.Fatalf("after %d days: %+v, %v", days, report.Groups, err)
		}
		if want == 1 && (report.Groups[0].Kind != today.KeyEnds || report.Groups[0].Items[0].Text != "RS256" || report.Groups[0].Items[0].Until.IsZero()) {
			t.Errorf("%+v", report.Groups[0])
		}
	}
}

// TestDisk: a large disk that is nearly full and a small one with space left are not listed.
func TestDisk(t *testing.T) {
	h := start(t)
	const gb = 1 << 30
	for _, c := range []struct {
		disk  sqldb.Disk
		known bool
		full  bool
	}{
		{sqldb.Disk{Free: 5 * gb, Total: 1000 * gb}, true, false},
		{sqldb.Disk{Free: 5*gb - 1, Total: 1000 * gb}, true, true},
		{sqldb.Disk{Free: gb, Total: 10 * gb}, true, false},
		{sqldb.Disk{Free: gb - 1, Total: 10 * gb}, true, true},
		{sqldb.Disk{Free: 1, Total: 10 * gb}, false, false},
	} {
		h.Today.Disk = func() (sqldb.Disk, bool) { return c.disk, c.known }
		report, err := h.Today.Read(t.Context())
		if err != nil || (len(report.Groups) == 1 && report.Groups[0].Kind == today.DiskFull) != c.full {
			t.Errorf("%+v: %+v, %v", c.disk, report.Groups, err)
		}
	}
}

// TestMany: with many items ten are listed and the others counted, and the kinds keep their order.
func TestMany(t *testing.T) {
	h := start(t)
	for i := range today.Shown + 3 {
		h.partner(fmt.Sprint("Partner ", i))
	}
	h.Exec(`DELETE FROM contacts`)
	h.job(at.Add(time.Hour), at, "no space")
	report, err := h.Today.Read(t.Context())
	if err != nil || len(report.Groups) != 2 || report.Groups[0].Kind != today.JobFailed {
		t.Fatalf("%+v, %v", report.Groups, err)
	}
	if g := report.Groups[1]; g.Kind != today.NoContacts || len(g.Items) != today.Shown || g.Rest != 4 || g.More {
		t.Errorf("%s: %d listed, %d not, more %t", g.Kind, len(g.Items), g.Rest, g.More)
	}
}

// TestRecent: concurrent callers get the result of one read, for half a second.
func TestRecent(t *testing.T) {
	h := start(t)
	now := at
	h.Today.Now = func() time.Time { return now }
	first, err := h.Today.Recent(t.Context())
	h.Must(err)
	h.Exec(`DELETE FROM contacts`)
	now = at.Add(499 * time.Millisecond)
	if r, err := h.Today.Recent(t.Context()); err != nil || r.Version() != first.Version() {
		t.Errorf("just after: %+v, %v", r, err)
	}
	now = at.Add(500 * time.Millisecond)
	if r, err := h.Today.Recent(t.Context()); err != nil || r.Version() == first.Version() {
		t.Errorf("later: %+v, %v", r, err)
	}
}
