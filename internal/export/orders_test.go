package export_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/export"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
)

// TestOrders: the list of orders has the amount and the buyer of each, and its open problem.
func TestOrders(t *testing.T) {
	h := &harness{Harness: apptest.New(t)}
	stripe := &fakestripe.Server{Secret: "whsec_test", Now: func() int64 { return h.Accounts.Now().Unix() }}
	server := httptest.NewServer(stripe)
	t.Cleanup(server.Close)
	stripe.URL = server.URL
	h.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	p, _ := h.Partner("Ours", profile.URLs{})
	h.Plans(p.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	for _, name := range []string{"ann", "bea", "cid"} {
		buyer, _, err := h.Accounts.Create(t.Context(), apptest.Tester, account.Person{Email: name + "@example.com"})
		h.Must(err)
		_, err = h.Payments.Begin(t.Context(), payment.Order{
			PartnerID: p.ID, Partner: "Ours", Tier: 1, PlanName: "One", Amount: 100, Currency: "USD", UserID: buyer.ID, CancelPath: "/",
		})
		h.Must(err)
	}
	for order, done := range []int64{0, 1} { // the second one is settled
		h.Exec(`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at)
			VALUES ('refund_refused', $1, $2, $3, '', 100, 'USD', 1, $4)`, fmt.Sprint("re_", order), order+1, p.ID, done)
	}
	list := func(query map[string][]string) (got []map[string]any) {
		t.Helper()
		table, err := h.Exports.OperatorTable(t.Context(), export.Orders, query)
		h.Must(err)
		rows, _ := h.rows(table)
		for _, r := range rows {
			one := map[string]any{}
			for _, name := range []string{"user_email", "partner_id", "tier", "amount_cents", "currency", "problem"} {
				one[name] = r[name]
			}
			got = append(got, one)
		}
		return got
	}
	of := func(name, problem string) map[string]any {
		return map[string]any{
			"user_email": name + "@example.com", "partner_id": float64(p.ID), "tier": 1.0, "amount_cents": 100.0, "currency": "USD", "problem": problem,
		}
	}
	for _, c := range []struct {
		email string
		want  []map[string]any
	}{
		{"", []map[string]any{of("cid", ""), of("bea", ""), of("ann", "refund_refused")}},
		{"bea@example.com", []map[string]any{of("bea", "")}},
		{"nobody@example.com", nil},
	} {
		if diff := cmp.Diff(c.want, list(map[string][]string{"email": {c.email}})); diff != "" {
			t.Errorf("of %q (-want +got)\n%s", c.email, diff)
		}
	}
}

// TestManyOrders: a file has the orders of all batches, each once.
func TestManyOrders(t *testing.T) {
	h := &harness{Harness: apptest.New(t)}
	const n = 1001
	sqldbtest.Fill(t, h.DB, n, `INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency,
		user_id, license_key, state, session_id, session_url, intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at,
		paid_at, updated_at, next_at, credit)
		`+sqldbtest.Numbers+`SELECT 'co_' || n, 1, 1, 'Plan', 'App, Plan', 4900, 'EUR', 4900, 'EUR', 1, '', 3, 'cs_' || n, '',
		'pi_' || n, n, 0, FALSE, 0, n, 1, 1, n, 0, 0 FROM numbers`)
	rows, _ := h.rows(h.Exports.OperatorOrders(payment.FindOrders{}))
	seen := map[any]bool{}
	for _, r := range rows {
		seen[r["id"]] = true
	}
	if len(rows) != n || len(seen) != n {
		t.Errorf("%d rows, %d of them different; want %d", len(rows), len(seen), n)
	}
}
