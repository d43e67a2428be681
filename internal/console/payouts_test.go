package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/accounting"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/idempotency"
	"claviger/internal/payout"
	"claviger/internal/profile"
	"claviger/internal/secret"
)

func init() {
	registry.Placeholders["run"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		run, err := h.Payouts.Prepare(h.Context(), apptest.Tester, payout.Order{
			Currency: h.due(), Idempotency: idempotency.Request{Scope: "test", Key: secret.UUID()},
		})
		h.Must(err)
		return fmt.Sprint(run.ID)
	}
	registry.Queries["/payouts/prepare"] = func(h *harness, of known) url.Values {
		if of == missing {
			return url.Values{"currency": {"XXY"}}
		}
		return url.Values{"currency": {h.due()}}
	}
	registry.Queries["/payouts/{run}/settle"] = form("state", "sent")
	registry.Forms["/payouts/prepare"] = registry.Queries["/payouts/prepare"]
	registry.Forms["/payouts/{run}/settle"] = form("state", "sent")
}

// currencies are used one after another: only one run of a currency is prepared at a time.
var currencies = strings.Fields("EUR GBP CHF SEK NOK DKK PLN CZK HUF RON CAD AUD NZD SGD HKD INR BRL MXN ZAR THB")

// due owes the partner money that a run can pay, in a currency without a run. It returns the currency.
func (h *harness) due() string {
	h.Helper()
	for more := true; more; { // other tests write payments without postings, as nodes of 1.0.0 do
		var err error
		more, err = h.Accounting.CatchUp(h.Context())
		h.Must(err)
	}
	free := currencies[h.Count(`SELECT count(*) FROM payout_runs`)]
	h.owe(free, 1500)
	return free
}

func (h *harness) owe(currency string, amount int64) {
	h.Helper()
	_, err := h.Accounting.Adjust(h.Context(), apptest.Tester, accounting.Adjustment{
		PartnerID: h.tide.ID, Amount: amount, Currency: currency, Reason: "A prize",
		Idempotency: idempotency.Request{Scope: "test", Key: secret.UUID()},
	})
	h.Must(err)
	d, err := h.Payouts.Details(h.Context(), h.tide.ID)
	h.Must(err)
	if d.Given() {
		return
	}
	earlier := *h.Payouts
	earlier.Now = func() time.Time { return h.Payouts.Now().Add(-payout.DetailsRest) }
	u := h.User(member)
	_, err = earlier.SetDetails(h.Context(), apptest.Tester, h.tide.ID, u, "IBAN DE02 1203 0000 0000 2020 51")
	h.Must(err)
}

// TestPayoutPages: an admin prepares a run, downloads the file for the bank, and notes what the bank did.
func TestPayoutPages(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Owes", profile.URLs{})
	_, err := h.Accounting.Adjust(t.Context(), apptest.Tester, accounting.Adjustment{
		PartnerID: other.ID, Amount: -700, Currency: "EUR", Reason: "A debt",
		Idempotency: idempotency.Request{Scope: "test", Key: "debt"},
	})
	h.Must(err)
	h.owe("EUR", 1500)
	b := h.as(admin)
	page := b.Get(path("/payouts"))
	wants(t, page, http.StatusOK, "15.00 EUR", "Tide Planner", "−7.00 EUR", "The partner owes money.", "Prepare a run in EUR")
	wantsNone(t, h.as(viewer).Get(path("/payouts")), "Prepare a run")
	ask := b.Get(path("/payouts/prepare?currency=EUR"))
	wants(t, ask, http.StatusOK, "The run reserves 15.00 EUR for 1 partner.", "It leaves out 1 partner")
	run := b.Follow(b.Press(ask, "Prepare the run"))
	wants(t, run, http.StatusOK, "Payout run 1", "PAYOUT-1-1", "Prepared", "The partner owes money.")
	if again := b.Press(ask, "Prepare the run"); again.Status >= 500 {
		t.Errorf("the same form again: %d", again.Status)
	}
	if n := h.Count(`SELECT count(*) FROM payout_runs`); n != 1 {
		t.Errorf("%d runs", n)
	}
	file := b.Get(path("/payouts/1/file"))
	if want := "PAYOUT-1-1,15.00,EUR,IBAN DE02 1203 0000 0000 2020 51"; !strings.Contains(file.Body, want) {
		t.Errorf("the file has no %s: %s", want, file.Body)
	}
	if p := h.as(sales).Get(path("/payouts/1/file")); strings.Contains(p.Body, "DE02") || p.Status == http.StatusOK {
		t.Errorf("sales read the file for the bank: %d", p.Status)
	}
	b.Follow(b.Press(b.Get(path("/payouts/1/settle?state=sent")), "It was sent"))
	wants(t, b.Press(b.Get(path("/payouts/1/settle?state=released")), "Release it", "reason", "No"),
		http.StatusConflict, "settle it as failed first")
	paid := b.Get(path("/payouts/1/settle?state=paid&partner=%d", h.tide.ID))
	wants(t, b.Follow(b.Press(paid, "It was paid", "reference", "B 1")), http.StatusOK, "Paid", "B 1")
	wants(t, b.Press(paid, "It was paid", "reference", "B 2"), http.StatusConflict, "the bank's reference B 1")
	wants(t, b.Get(path("/payouts/1/settle?state=lost")), http.StatusNotFound)
	wants(t, b.Get(path("/payouts/prepare?currency=EUR")), http.StatusNotFound)
}

// TestPayoutNeedsSecondFactor: outside of claviger dev, an admin without a second factor neither prepares nor
// settles a run.
func TestPayoutNeedsSecondFactor(t *testing.T) {
	h := start(t, func(cfg *app.Config) { cfg.TestMoney = false })
	h.owe("EUR", 1500)
	b := h.as(admin)
	refused := func(at, name, value string) {
		t.Helper()
		wants(t, b.Get(path("%s?%s=%s", at, name, value)), http.StatusOK, "Payouts need a second factor.")
		if posted := b.Post(path("%s", at), name, value, "reference", "B 1", "reason", "No"); posted.Status < 400 {
			t.Errorf("%s: %d", at, posted.Status)
		}
	}
	refused("/payouts/prepare", "currency", "EUR")
	if n := h.Count(`SELECT count(*) FROM payout_runs`); n != 0 {
		t.Errorf("%d runs", n)
	}
	_, err := h.Payouts.Prepare(t.Context(), apptest.Tester, payout.Order{
		Currency: "EUR", Idempotency: idempotency.Request{Scope: "test", Key: "run"},
	})
	h.Must(err)
	for _, state := range []payout.LineState{payout.Sent, payout.Paid, payout.Released} {
		refused("/payouts/1/settle", "state", string(state))
	}
	if p := b.Get(path("/payouts/1/file")); p.Status != http.StatusConflict || strings.Contains(p.Body, "DE02") {
		t.Errorf("the file: %d %s", p.Status, p.Text())
	}
	if n := h.Count(`SELECT count(*) FROM payout_lines WHERE state = 'reserved'`); n != 1 {
		t.Errorf("%d lines are reserved", n)
	}
}
