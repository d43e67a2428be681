package payment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// stated returns the stored states of all orders, oldest first.
func (h *harness) stated() []payment.OrderState {
	h.Helper()
	list, err := sqldb.All(h.Context(), h.db, func(r *sqldb.Row, s *payment.OrderState) error { return r.Scan((*int)(s)) },
		`SELECT order_state FROM checkouts ORDER BY id`)
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// inEachState begins one order per state and returns them in the order of the states.
func (h *harness) inEachState() []payment.Checkout {
	h.Helper()
	acts := []string{
		"", "pay later", "pay", "pay later, bank refuses", "expire", "pay, refund half", "pay, refund all", "pay, refund all, dispute",
	}
	list := make([]payment.Checkout, len(acts))
	for i, history := range acts {
		o := h.order()
		o.PartnerID = h.newPartner()
		list[i] = h.begin(o)
		for act := range strings.SplitSeq(history, ", ") {
			if act != "" {
				actsAt(h, act, list[i])
			}
		}
	}
	h.deliver(h.stripe.Events()...)
	h.work()
	return list
}

func actsAt(h *harness, act string, c payment.Checkout) { acts[act](h.stripe, c.SessionID) }

// TestOrderStates: each state is stored with the facts that lead to it, and a node of the previous
// release, which stores only the facts, is caught up by the job. Until then lists and pages show the
// state that the facts have.
func TestOrderStates(t *testing.T) {
	h := newHarness(t)
	list := h.inEachState()
	var want []payment.OrderState
	for i := range payment.OrderStates() {
		want = append(want, payment.OrderState(i+1))
	}
	if diff := cmp.Diff(want, h.stated()); diff != "" {
		t.Fatalf("stored states (-want +got)\n%s", diff)
	}
	h.exec(`UPDATE checkouts SET order_state = 0, updated_at = updated_at + 1000, next_at = 0`) // as 1.0.0 writes
	shown := func() []payment.OrderState {
		t.Helper()
		found, err := h.book.FindOrders(t.Context(), payment.FindOrders{}, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		states := make([]payment.OrderState, len(list))
		for i, c := range found.Orders {
			states[len(list)-1-i] = c.Order
		}
		return states
	}
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("shown before the job (-want +got)\n%s", diff)
	}
	for i, c := range list {
		if one, err := h.book.OrderByID(t.Context(), c.Ref); err != nil || one.Order != want[i] {
			t.Errorf("%s is %s, want %s; %v", c.Ref, one.Order, want[i], err)
		}
	}
	h.book.Stripe = nil // states need no provider
	h.work()
	if diff := cmp.Diff(want, h.stated()); diff != "" {
		t.Errorf("stored by the job (-want +got)\n%s", diff)
	}
	before, _ := h.db.Counts()
	h.work()
	if after, _ := h.db.Counts(); after != before {
		t.Error("the job derives states again that are right")
	}
}

// TestManyOldOrders: the job derives the states of more orders than one batch has.
func TestManyOldOrders(t *testing.T) {
	h := newHarness(t)
	h.manyOrders(250)
	h.work()
	if n := h.count(`SELECT count(*) FROM checkouts WHERE order_state = $1`, int(payment.OrderPaid)); n != 250 {
		t.Errorf("%d of 250 orders have their state", n)
	}
}

// manyOrders writes sold orders of several partners and buyers, as the previous release does.
func (h *harness) manyOrders(n int) {
	h.Helper()
	sqldbtest.Fill(h, h.db, n, `INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency,
		user_id, license_key, state, session_id, session_url, intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at,
		paid_at, updated_at, next_at, credit)
		`+sqldbtest.Numbers+`SELECT 'co_' || n, 1 + n % 20, 1, 'Plan', 'App, Plan', 4900, 'EUR', 4900, 'EUR', 1 + n % 50, '', 3, 'cs_' || n, '',
		'pi_' || n, n, 0, FALSE, 0, n, 1, 1, n, 0, 0 FROM numbers`)
}

// TestOrderPlans: lists, totals and searches of a large table use an index.
func TestOrderPlans(t *testing.T) {
	h := newHarness(t)
	h.manyOrders(3000)
	h.exec(`UPDATE checkouts SET order_state = CASE id % 60 WHEN 0 THEN 4 ELSE 5 + id % 4 END, stated_at = updated_at, charge_id = 'ch_' || id`)
	if sqldbtest.Postgres() {
		h.exec(`ANALYZE checkouts`)
	}
	several := payment.FindOrders{Users: []int64{7, 8, 9}, PartnerID: 3}
	for _, sql := range several.Statements() {
		sqldbtest.WantIndex(t, h.db, "checkouts_user", []string{"newest", "checked"}, sql.Text, sql.Args...)
	}
	for index, f := range map[string]payment.FindOrders{
		"checkouts_user": {Users: []int64{7}, PartnerID: 3, State: payment.OrderFailed}, "checkouts_partner": {PartnerID: 3, State: payment.OrderFailed},
		"checkouts_state": {State: payment.OrderFailed}, "": {},
	} {
		for _, sql := range f.Statements() {
			sqldbtest.WantIndex(t, h.db, index, []string{"newest", "checked"}, sql.Text, sql.Args...)
		}
	}
	sqldbtest.WantIndex(t, h.db, "checkouts_stale", nil, payment.StaleOrders, 1)
	for index, sql := range map[string]string{
		"checkouts_charge":  `SELECT id FROM checkouts WHERE charge_id = 'ch_1' AND charge_id <> ''`,
		"checkouts_session": `SELECT id FROM checkouts WHERE session_id = 'cs_1' AND session_id <> ''`,
	} {
		sqldbtest.WantIndex(t, h.db, index, nil, sql)
	}
}

// TestFreeOrders: a free plan, and a free change of plan, have an order that is written with the
// sale, once.
func TestFreeOrders(t *testing.T) {
	h := newHarness(t)
	o := h.order()
	o.Amount = 0
	free := license.Purchase{
		PartnerID: o.PartnerID, Tier: 1, BuyerID: h.buyer.ID, Quantity: 1, Currency: "USD", ExternalID: "form-1", Shop: true,
	}
	for range 2 { // the form was sent twice
		if _, err := h.book.SellFree(t.Context(), tester, o, free); err != nil {
			t.Fatal(err)
		}
	}
	found, err := h.book.FindOrders(t.Context(), payment.FindOrders{Users: []int64{h.buyer.ID}}, 0, 10)
	if err != nil || len(found.Orders) != 1 {
		t.Fatalf("%d orders, %v", len(found.Orders), err)
	}
	c := found.Orders[0]
	if c.Order != payment.OrderPaid || c.PurchaseID == 0 || !c.Free() || c.Paid.Units != 0 || c.PaidAt.IsZero() || c.Item != "App, Tier 1" {
		t.Errorf("the order is %+v", c)
	}
	h.ahead = time.Hour
	h.work() // there is nothing to ask Stripe
	if now := h.checkout(c); now.UpdatedAt != c.UpdatedAt || now.State != payment.Sold {
		t.Errorf("later it is %+v", now)
	}
	free.Tier, free.ExternalID = 9, "form-2"
	if _, err := h.book.SellFree(t.Context(), tester, o, free); err == nil {
		t.Fatal("a plan that does not exist was sold")
	}
	paid, l := h.redeemed(h.tier(2))
	if err := h.free(l, 1, "down"); err != nil {
		t.Fatal(err)
	}
	found, err = h.book.FindOrders(t.Context(), payment.FindOrders{Users: []int64{h.buyer.ID}}, 0, 10)
	if err != nil || len(found.Orders) != 3 {
		t.Fatalf("%d orders, %v", len(found.Orders), err)
	}
	if c := found.Orders[0]; c.LicenseKey != l.Key || c.Amount != 0 || c.Order != payment.OrderPaid || c.PurchaseID == paid.PurchaseID || c.Item != "App, Tier 1" {
		t.Errorf("the order of the change is %+v", c)
	}
}

// TestFindOrders: each filter selects its orders, pages follow each other, and the totals are those
// of the same filter.
func TestFindOrders(t *testing.T) {
	h := newHarness(t)
	list := h.inEachState()
	find := func(f payment.FindOrders) string {
		t.Helper()
		var got []string
		for before, more := int64(0), true; more; {
			found, err := h.book.FindOrders(t.Context(), f, before, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range found.Orders {
				got = append(got, c.Order.String())
			}
			before, more = found.Next, found.Next != 0
		}
		totals, err := h.book.OrderTotals(t.Context(), f)
		var n int64
		for _, v := range totals.List {
			n += v.Orders
			if v.Amount != 5900*v.Orders || v.Currency != "USD" {
				t.Errorf("%+v: a total is %+v", f, v)
			}
		}
		if err != nil || n != int64(len(got)) || totals.More {
			t.Errorf("%+v: totals of %d orders, want %d; %v", f, n, len(got), err)
		}
		return strings.Join(got, " ")
	}
	const all = "disputed refunded partly_refunded expired failed paid pending begun"
	last := list[len(list)-1]
	for want, f := range map[string]payment.FindOrders{
		all: {}, "failed": {State: payment.OrderFailed}, "disputed": {PartnerID: last.PartnerID},
	} {
		if got := find(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	for name, f := range map[string]payment.FindOrders{
		"another buyer": {Users: []int64{h.buyer.ID + 1}}, "another partner and state": {PartnerID: last.PartnerID, State: payment.OrderPaid},
		"later": {From: h.now().Add(time.Hour)}, "earlier": {To: list[0].CreatedAt},
	} {
		if got := find(f); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := find(payment.FindOrders{Users: []int64{h.buyer.ID}, From: list[0].CreatedAt, To: h.now().Add(time.Second)}); got != all {
		t.Errorf("in time: %s", got)
	}
}

// TestOrderByID: an order is found by our reference and by each of Stripe's ids, also those that no
// event has named, and by the ids of a second payment for it.
func TestOrderByID(t *testing.T) {
	h := newHarness(t)
	c := h.checkout(h.sold())
	second := h.twin(c)
	h.stripe.Pay(second)
	h.deliver(h.newest())
	other := of(h.stripe, second, "ch")[0].Text("payment_intent")
	charge := of(h.stripe, c.SessionID, "ch")[0].Text("id")
	ids := []string{c.Ref, c.SessionID, c.IntentID, charge, second, other, of(h.stripe, second, "ch")[0].Text("id")}
	refund := h.stripe.Refund(c.SessionID, 100, "succeeded") // its event is lost
	dispute := h.stripe.Dispute(c.SessionID, "needs_response")
	ids = append(ids, refund, dispute)
	h.exec(`DELETE FROM checkouts WHERE session_id = $1`, second) // the twin is not ours
	check := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			if got, err := h.book.OrderByID(t.Context(), id); err != nil || got.ID != c.ID {
				t.Errorf("%s finds %d, %v", id, got.ID, err)
			}
		}
	}
	check(ids...)
	h.deliver(h.stripe.Events()...)
	h.work()
	if got := h.checkout(c).ChargeID; got != charge {
		t.Errorf("the charge is %q, want %q", got, charge)
	}
	h.book.Stripe = nil // all of them are stored now
	check(c.Ref, c.SessionID, c.IntentID, charge, second, other, refund, dispute)
	for _, id := range []string{"", "co_", "co_1", "cs_x", "ch_x", "re_x", "pi_x", "dp_x", "du_x", "x", "co_\x00", "Ann"} {
		if _, err := h.book.OrderByID(t.Context(), id); code(err) != "unknown_order" {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestOrderStateIsParsed: an unknown state is refused with the known ones.
func TestOrderStateIsParsed(t *testing.T) {
	for i, word := range payment.OrderStates() {
		if s, err := payment.ParseOrderState(word); err != nil || int(s) != i+1 || s.String() != word {
			t.Errorf("%s is %v, %v", word, s, err)
		}
	}
	if s, err := payment.ParseOrderState(""); err != nil || s != 0 {
		t.Errorf("no state is %v, %v", s, err)
	}
	_, err := payment.ParseOrderState("shipped")
	if text := fmt.Sprint(err); code(err) != "invalid_parameter" || !strings.Contains(text, "begun, pending, paid, failed") {
		t.Errorf("%s", text)
	}
}
