package payout_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payout"
	"claviger/internal/sqldb"
)

// TestDetails: details are sealed and masked, only admins change them, and each change is emailed.
func TestDetails(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 1)
	p := h.partners[0]
	if d, err := h.payouts.Details(t.Context(), p); err != nil || d.Given() {
		t.Errorf("at first: %+v %v", d, err)
	}
	const text = "Ann Example\nDE02 1203 0000 0000 2020 51"
	for range 2 { // the same again changes nothing
		if _, err := h.payouts.SetDetails(t.Context(), tester, p, h.admin, text); err != nil {
			t.Fatal(err)
		}
		h.at = h.at.Add(time.Hour)
	}
	d, err := h.payouts.Details(t.Context(), p)
	if err != nil || d.Masked != "••• •••••••\n•••• •••• •••• •••• ••20 51" || d.UserID != h.admin.ID {
		t.Errorf("%+v %v", d, err)
	}
	if !d.UsableAt.Equal(h.at.Add(-2*time.Hour + payout.DetailsRest)) {
		t.Errorf("usable at %v", d.UsableAt)
	}
	sealed, err := sqldb.One(t.Context(), h.db, sqldb.Value[string], `SELECT sealed FROM payout_details`)
	if err != nil || strings.Contains(sealed, "DE02") || sealed == "" {
		t.Errorf("stored as %q, %v", sealed, err)
	}
	h.mails("payout details 1 to user")
	if _, err := h.payouts.SetDetails(t.Context(), tester, p, h.admin, ""); err != nil {
		t.Fatal(err)
	}
	if d, err := h.payouts.Details(t.Context(), p); err != nil || d.Given() {
		t.Errorf("removed: %+v %v", d, err)
	}
	h.mails("payout details 1 to user", "payout details 2 to user")
	if _, err := h.payouts.SetDetails(t.Context(), tester, p, h.admin, strings.Repeat("x", payout.MaxDetails+1)); err == nil {
		t.Error("too long details were stored")
	}
	list, _, err := (&audit.Log{DB: h.db}).Walk(t.Context(), audit.Filter{}, 0, 10)
	for _, e := range list {
		if strings.Contains(e.After+e.Before, "DE02") {
			t.Errorf("the audit log has the details: %s", e.After)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// mails compares the causes of the emails, without their last word.
func (h *harness) mails(want ...string) {
	h.Helper()
	got, err := sqldb.All(h.Context(), h.db, sqldb.Value[string], `SELECT cause FROM mails ORDER BY id`)
	if err != nil {
		h.Fatal(err)
	}
	for i := range got {
		got[i] = got[i][:strings.LastIndex(got[i], " ")]
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		h.Errorf("emails %q", got)
	}
}

// TestDetailsByOthers: other members and strangers cannot change details.
func TestDetailsByOthers(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 1)
	accounts := &account.Store{DB: h.db, Now: h.payouts.Now}
	for _, role := range []partner.Role{partner.Developer, partner.Viewer, ""} {
		u, _, err := accounts.Create(t.Context(), tester, account.Person{Email: "other" + string(role) + "@app.example"})
		if err == nil && role != "" {
			_, err = (&partner.Store{DB: h.db, Now: h.payouts.Now}).AddMember(t.Context(), tester, h.partners[0], u.ID, role)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err = h.payouts.SetDetails(t.Context(), tester, h.partners[0], u, "IBAN"); !fault.Is(err, "not_partner_admin") {
			t.Errorf("%q: %v", role, err)
		}
	}
	h.mails()
}

// TestTransfers: the file for the bank has the details that counted when the run was prepared.
func TestTransfers(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 2)
	h.details(h.partners[0], "the old account")
	h.details(h.partners[1], "another account")
	h.earn(h.partners[0], 10_000, "USD")
	h.earn(h.partners[1], 20_000, "USD")
	run := h.prepare("USD")
	h.details(h.partners[0], "the account of a thief")
	want := map[int64]string{h.partners[0]: "App 1, the old account", h.partners[1]: "App 2, another account"}
	h.transfers(run.ID, want)
	h.settle(payout.Settlement{RunID: run.ID, State: payout.Paid, Reference: "1", Partners: h.partners[:1]})
	delete(want, h.partners[0])
	h.transfers(run.ID, want)
	h.settle(payout.Settlement{RunID: run.ID, State: payout.Sent})
	h.transfers(run.ID, nil) // the bank has it
	h.settle(payout.Settlement{RunID: run.ID, State: payout.LineFailed, Reason: "no such account"})
	h.transfers(run.ID, want)
}

func (h *harness) transfers(runID int64, want map[int64]string) {
	h.Helper()
	list, _, err := h.payouts.Transfers(h.Context(), runID, 0, 10)
	for _, tr := range list {
		if got := tr.Partner + ", " + tr.Details; got != want[tr.PartnerID] {
			h.Errorf("the transfer to %d: %s", tr.PartnerID, got)
		}
	}
	if err != nil || len(list) != len(want) {
		h.Errorf("%d transfers, %v", len(list), err)
	}
}
