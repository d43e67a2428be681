package claviger_test

import (
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/payout"
	"claviger/sdk/go/operator"
)

// withStripe lets a service that does not run yet take payments.
func withStripe(t *testing.T, h *apptest.Harness) *fakestripe.Server {
	t.Helper()
	stripe := &fakestripe.Server{Secret: "whsec_test", Now: func() int64 { return h.Accounts.Now().Unix() }}
	server := httptest.NewServer(stripe)
	t.Cleanup(server.Close)
	h.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	return stripe
}

// marketPayments calls the operations for payments.
func marketPayments(t *testing.T, h *apptest.Harness, stripe *fakestripe.Server, c *operator.Client, partnerID int64) {
	t.Helper()
	ctx := t.Context()
	u := h.User("payer@example.com")
	pay := func(amount int64) payment.Checkout {
		o := payment.Order{PartnerID: partnerID, Partner: "App", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: u.ID, CancelPath: "/"}
		began := must(h.Payments.Begin(ctx, o))(t)
		stripe.Change(began.SessionID, fakestripe.Object{"amount_total": amount})
		stripe.Pay(began.SessionID)
		return must(h.Payments.Look(ctx, began))(t)
	}
	sold := pay(4900)
	asked := must(c.CreateRefund(ctx, operator.NewRefund{PurchaseID: new(sold.PurchaseID)}))(t)
	if asked.PaymentRefunds.Size != 1 || must(c.PaymentRefund(ctx, asked.PaymentRefunds.Items[0].ID))(t).PurchaseID != sold.PurchaseID {
		t.Errorf("asked %+v", asked)
	}
	pay(1)
	pay(2)
	problems := must(c.PaymentProblems(ctx))(t)
	if problems.Size != 2 {
		t.Fatalf("problems %+v", problems)
	}
	for _, o := range all(t, c.Orders(ctx, operator.FindFilter{Email: "payer@example.com", State: "paid"})) {
		if one := must(c.ShopOrder(ctx, o.ID))(t); one.State != "paid" || one.Email != "payer@example.com" || len(one.Next) == 0 {
			t.Errorf("the order is %+v", one)
		}
	}
	must(c.RefundPaymentProblem(ctx, problems.Items[0].ID))(t)
	must(c.DismissPaymentProblem(ctx, problems.Items[1].ID))(t)
	days := 14
	must(h.Partners.ChangeProduct(ctx, apptest.Tester, partnerID, partner.ProductChange{RefundDays: &days}))(t)
	var ids []int64
	for range 2 {
		list := must(h.Licenses.OfSale(ctx, pay(4900).PurchaseID))(t)
		ids = append(ids, must(h.Payments.RequestRefund(ctx, apptest.Tester, list[0], u.ID, ""))(t).ID)
	}
	must(c.GrantRefundRequest(ctx, ids[0]))(t)
	must(c.DeclineRefundRequest(ctx, ids[1], "Used."))(t)
	for r, err := range c.RefundRequests(ctx, operator.RefundRequestFilter{State: "declined", PartnerID: partnerID}) {
		if err != nil || r.ID != ids[1] || must(c.RefundRequest(ctx, r.ID))(t).Answer != "Used." {
			t.Errorf("declined %+v, %v", r, err)
		}
	}
	checkLedger(t, c, partnerID)
	checkPayouts(t, h, c, partnerID)
	must(c.SetPlanChangePrice(ctx, partnerID, operator.PlanChangePrice{PlanChangePrice: "full_price"}))(t)
	if p := must(c.PlanChangePrice(ctx, partnerID))(t); p.PlanChangePrice != "full_price" {
		t.Errorf("costs %+v", p)
	}
}

// checkLedger gives the partner terms, adjusts its balance and reads the postings.
func checkLedger(t *testing.T, c *operator.Client, partnerID int64) {
	t.Helper()
	ctx := t.Context()
	if terms := must(c.AddTerms(ctx, partnerID, operator.NewTerms{Share: 7000}))(t); terms.Share != 7000 || terms.PayableAfter != -1 {
		t.Errorf("terms %+v", terms)
	}
	if list := must(c.Terms(ctx, partnerID))(t); list.Size != 1 {
		t.Errorf("all terms %+v", list)
	}
	must(c.Adjust(ctx, operator.NewAdjustment{PartnerID: partnerID, Amount: 1500, Currency: "EUR", Reason: "A prize"}))(t)
	filter := operator.PostingFilter{PartnerID: partnerID, Kind: "adjustment", From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	if list := all(t, c.Ledger(ctx, filter)); len(list) != 1 || list[0].Reason != "A prize" {
		t.Errorf("adjustments %+v", list)
	}
	if list := must(c.Balances(ctx, partnerID))(t); list.Size == 0 {
		t.Error("no balances")
	}
	if must(c.LedgerFrom(ctx))(t).From.IsZero() {
		t.Error("the ledger has not begun")
	}
	span := operator.RevenueFilter{PartnerID: partnerID, From: time.Now().AddDate(0, 0, -7), To: time.Now(), By: "plan"}
	if got := must(c.Revenue(ctx, span))(t); len(got.Items) == 0 || len(got.Total) == 0 {
		t.Errorf("revenue %+v", got)
	}
	from := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	if b := must(c.SetLedgerFrom(ctx, from))(t); !b.From.Equal(from) || !b.Moving {
		t.Errorf("the ledger begins %+v, want %v", b, from)
	}
}

// checkPayouts pays what the partner is due.
func checkPayouts(t *testing.T, h *apptest.Harness, c *operator.Client, partnerID int64) {
	t.Helper()
	ctx := t.Context()
	admin := h.User("money@example.com")
	must(h.Partners.AddMember(ctx, apptest.Tester, partnerID, admin.ID, partner.Admin))(t)
	h.Exec(`UPDATE ledger_state SET moved_at = 0`) // as the job does after a minute
	before := *h.Payouts
	before.Now = func() time.Time { return h.Payouts.Now().Add(-payout.DetailsRest) }
	must(before.SetDetails(ctx, apptest.Tester, partnerID, admin, "IBAN DE02 1203 0000 0000 2020 51"))(t)
	due := must(c.DuePayouts(ctx, "EUR"))(t)
	i := slices.IndexFunc(due.Items, func(d operator.Due) bool { return d.PartnerID == partnerID })
	if i < 0 || due.Items[i].Reason != "" || due.Items[i].Amount <= 0 {
		t.Fatalf("due %+v", due)
	}
	run := must(c.PreparePayout(ctx, operator.NewPayout{Currency: "EUR", Partners: &[]int64{partnerID}}))(t)
	if lines := all(t, c.PayoutLines(ctx, run.ID)); len(lines) != 1 || lines[0].Amount != due.Items[i].Amount {
		t.Errorf("lines %+v", lines)
	}
	file := must(c.PayoutFile(ctx, run.ID, "csv"))(t)
	text, err := io.ReadAll(file)
	if err != nil || !strings.Contains(string(text), "2020 51") {
		t.Errorf("the file for the bank: %s, %v", text, err)
	}
	must(file, file.Close())(t)
	must(c.SettlePayout(ctx, run.ID, operator.Settlement{State: "sent"}))(t)
	must(c.SettlePayout(ctx, run.ID, operator.Settlement{State: "paid", Reference: new("B1")}))(t)
	if again := must(c.Payout(ctx, run.ID))(t); again.State != "paid" || len(all(t, c.Payouts(ctx))) != 1 {
		t.Errorf("settled %+v", again)
	}
}
