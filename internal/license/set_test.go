package license_test

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// side is one of two partners that get the same orders. All names in its orders contain its tag, so
// that the sides share none.
type side struct {
	partner int64
	tag     string
}

// drawOrder draws an order from few names, so that many orders repeat one another and some are
// refused. The order is made for each side.
func drawOrder(rt *rapid.T) func(side) license.Order {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, what) }
	external, key, body := pick("external", "", "x1", "x2", "x3"), pick("key", "", "", "k1", "k2"), pick("body", "b1", "b1", "b2")
	email := pick("email", "", "", "ann", "Ann", "bob", "no address")
	user := pick("user", "", "", "u1", "u2")
	tier, quantity := rapid.IntRange(1, 4).Draw(rt, "tier"), rapid.IntRange(0, 3).Draw(rt, "quantity")
	shop := rapid.Bool().Draw(rt, "shop")
	return func(s side) license.Order {
		p := license.Purchase{PartnerID: s.partner, Tier: tier, Quantity: quantity, Shop: shop}
		if external != "" {
			p.ExternalID = external + s.tag
		}
		if key != "" {
			p.Idempotency = idempotency.Request{Scope: s.tag, Key: key, Body: body}
		}
		if email != "" || user != "" {
			p.Buyer = &account.Person{}
			if email != "" {
				p.Buyer.Email = email + "@" + s.tag + ".example.com"
			}
			if user != "" {
				p.Buyer.ExternalID = user + s.tag
			}
		}
		return license.Order{Purchase: p, By: tester}
	}
}

// resultsText returns the results without the differences between sides: a sale is the first result
// with it, a buyer the first with the id.
func resultsText(list []license.Result) []string {
	var sales, users []int64
	number := func(list *[]int64, id int64) int {
		if !slices.Contains(*list, id) {
			*list = append(*list, id)
		}
		return slices.Index(*list, id)
	}
	text := make([]string, len(list))
	for i, r := range list {
		s := r.Sale
		text[i] = code(r.Err)
		if r.Err == nil {
			text[i] = fmt.Sprintf("sale %d of %d × %d, tier %d, to %d", number(&sales, s.ID), len(s.Licenses), s.Quantity, s.Tier, number(&users, s.UserID))
		}
	}
	return text
}

// people returns the users of a side, without its tag.
func (h *harness) people(s side) []string {
	h.Helper()
	list, err := sqldb.All(h.Context(), h.db, func(r *sqldb.Row, line *string) error {
		var email, external string
		err := r.Scan(&email, &external)
		*line = strings.ReplaceAll(email+" "+external, s.tag, "")
		return err
	}, `SELECT email, external_id FROM users WHERE email LIKE $1 OR external_id LIKE $1`, "%"+s.tag+"%")
	if err != nil {
		h.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// TestSetsAreOneOrderAfterTheOther checks that orders in sets have the same results as one after
// the other: the same answers, licenses and users, with any repeats and refusals.
func TestSetsAreOneOrderAfterTheOther(t *testing.T) {
	h := newHarness(t)
	partners := []int64{h.partner(), h.partner()}
	for _, p := range partners {
		h.limit(p, 2, 2)
		h.limit(p, 3, 0)
	}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		together, apart := side{partners[0], fmt.Sprintf("t%dz", round)}, side{partners[1], fmt.Sprintf("a%dz", round)}
		var inSets, alone []license.Result
		for range rapid.IntRange(1, 3).Draw(rt, "sets") {
			var set []license.Order
			for range rapid.IntRange(1, 8).Draw(rt, "orders") {
				order := drawOrder(rt)
				set = append(set, order(together))
				alone = append(alone, h.licenses.PurchaseAll(t.Context(), []license.Order{order(apart)})...)
			}
			before, _ := h.db.Counts()
			inSets = append(inSets, h.licenses.PurchaseAll(t.Context(), set)...)
			if after, _ := h.db.Counts(); after-before > 1 {
				rt.Fatalf("a set took %d transactions", after-before)
			}
		}
		if diff := cmp.Diff(resultsText(alone), resultsText(inSets)); diff != "" {
			rt.Fatalf("the answers (-alone +in sets)\n%s", diff)
		}
		if diff := cmp.Diff(h.people(apart), h.people(together)); diff != "" {
			rt.Fatalf("the users (-alone +in sets)\n%s", diff)
		}
	})
	h.verify()
	for _, of := range []string{"licenses", "events", "purchases"} {
		if a, b := h.count(`SELECT count(*) FROM `+of+` WHERE partner_id = $1`, partners[0]), h.count(`SELECT count(*) FROM `+of+` WHERE partner_id = $1`, partners[1]); a != b {
			t.Errorf("%d %s in sets, %d alone", a, of, b)
		}
	}
	if a, b := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'purchase.create'`), h.count(`SELECT count(*) FROM purchases`); a != b {
		t.Errorf("%d audit entries of %d purchases", a, b)
	}
}

// TestSetsAllAtOnce sells sets of two partners concurrently, with the same orders and the same new
// buyers, during a pause. Each order is made once, by a database that does not retry.
func TestSetsAllAtOnce(t *testing.T) {
	h := newHarness(t)
	partners := []int64{h.partner(), h.partner()}
	rapid.Check(t, func(rt *rapid.T) {
		tag := rapid.StringMatching(`[a-z]{8}`).Draw(rt, "tag")
		var wg sync.WaitGroup
		for w := range 6 {
			var set []license.Order
			for range rapid.IntRange(1, 6).Draw(rt, "orders") {
				set = append(set, drawOrder(rt)(side{partners[w%2], tag}))
			}
			wg.Go(func() {
				for i, r := range h.licenses.PurchaseAll(t.Context(), set) {
					if got := code(r.Err); len(got) > 40 { // an error that is no fault
						t.Errorf("%+v: %s", set[i], got)
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			rt.FailNow()
		}
	})
	h.verify()
}

// cutter cuts the connection before the n-th statement.
type cutter struct {
	sync.Mutex
	left int // 0: never
}

func (c *cutter) cut(string) error {
	c.Lock()
	defer c.Unlock()
	if c.left--; c.left == 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// cutting runs sell with the connection cut before the n-th statement, or never if n is 0. It
// reports whether sell completed without a cut.
func (c *cutter) cutting(n int, sell func() []license.Result) (results []license.Result, through bool) {
	c.Lock()
	c.left = n
	c.Unlock()
	results = sell()
	c.Lock()
	defer c.Unlock()
	through = n == 0 || c.left > 0
	c.left = 0
	return results, through
}

// TestSetCutOffBetweenStatements checks that a set that is cut off before any of its statements
// leaves nothing behind. All its orders report an unavailable database, and a repeat sells all.
func TestSetCutOffBetweenStatements(t *testing.T) {
	c := &cutter{}
	h := newHarnessOn(t, sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: c.cut}))
	p := h.partner()
	ann, bob := person("ann"), person("bob")
	h.user("ann")
	h.buy(license.Purchase{PartnerID: p, Tier: 1, ExternalID: "before"})
	key := idempotency.Request{Scope: "t", Key: "k", Body: "b"}
	set := []license.Order{
		{By: tester, Purchase: license.Purchase{PartnerID: p, Tier: 1, Quantity: 2, ExternalID: "one", Buyer: &ann}},
		{By: tester, Purchase: license.Purchase{PartnerID: p, Tier: 2, Quantity: 1, ExternalID: "two", Buyer: &bob, Idempotency: key}},
		{By: tester, Purchase: license.Purchase{PartnerID: p, Tier: 2, Quantity: 1, ExternalID: "two", Buyer: &bob}},
		{By: tester, Purchase: license.Purchase{PartnerID: p, Tier: 1, Quantity: 1, ExternalID: "before"}},
		{By: tester, Purchase: license.Purchase{PartnerID: p, Tier: 9, Quantity: 1, ExternalID: "none"}},
	}
	rows := func() int64 {
		return h.count(`SELECT (SELECT count(*) FROM licenses) + (SELECT count(*) FROM events) + (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM outbox)
			+ (SELECT count(*) FROM purchases) + (SELECT count(*) FROM users) + (SELECT count(*) FROM audit_entries) + (SELECT count(*) FROM idempotency_keys)`)
	}
	before := rows()
	for n := 1; ; n++ {
		results, through := c.cutting(n, func() []license.Result { return h.licenses.PurchaseAll(t.Context(), set) })
		if through {
			for slices.Contains(codes(results), idempotency.CodeIdempotencyKeyInUse) { // of the cut one
				results = h.licenses.PurchaseAll(t.Context(), set)
			}
			if diff := cmp.Diff([]string{"", "", "", "", "unknown_tier"}, codes(results)); diff != "" {
				t.Errorf("in the end (-want +got)\n%s", diff)
			}
			if n < 15 {
				t.Errorf("the set has only %d statements", n-1)
			}
			break
		}
		for i, r := range results {
			if !sqldb.IsUnavailable(r.Err) {
				t.Fatalf("cut off before statement %d, order %d: %v", n, i, r.Err)
			}
		}
		if got := rows(); got != before {
			t.Fatalf("cut off before statement %d it left %d rows behind", n, got-before)
		}
	}
	h.verify()
}

func codes(results []license.Result) []string {
	list := make([]string, len(results))
	for i, r := range results {
		list[i] = code(r.Err)
	}
	return list
}

// TestOneOrderFailsAlone checks that only the order that breaks the transaction of its set fails,
// and that the log reports it once.
func TestOneOrderFailsAlone(t *testing.T) {
	h := newHarness(t)
	var log strings.Builder
	h.licenses.Log = slog.New(slog.NewTextHandler(&log, nil))
	p := h.partner()
	if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`CREATE UNIQUE INDEX one_of_them ON purchases (currency) WHERE currency = 'ZZZ'`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var set []license.Order
	for i, currency := range []string{"EUR", "ZZZ", "USD", "ZZZ", "EUR"} {
		set = append(set, license.Order{By: audit.System(fmt.Sprint(i)), Purchase: license.Purchase{PartnerID: p, Tier: 1, Quantity: 1, Currency: currency}})
	}
	for i, r := range h.licenses.PurchaseAll(t.Context(), set) {
		if failed := r.Err != nil; failed != (i == 3) || failed && !sqldb.IsDuplicate(r.Err) {
			t.Errorf("order %d: %v", i, r.Err)
		}
	}
	h.verify()
	if n := h.count(`SELECT count(*) FROM licenses`); n != 4 {
		t.Errorf("%d licenses", n)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, fmt.Sprintf("partner_id=%d orders=5 err=", p)) {
		t.Errorf("logged %q", got)
	}
}

// TestPanicInASet checks that a panic becomes the error of the affected orders, and that no caller
// waits forever.
func TestPanicInASet(t *testing.T) {
	h := newHarness(t)
	order := license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 1}
	calls := 0
	h.licenses.Now = func() time.Time {
		if calls++; calls < 4 {
			panic("no time")
		}
		return now()
	}
	results := h.licenses.PurchaseAll(t.Context(), []license.Order{{Purchase: order}, {Purchase: order}, {Purchase: order}, {Purchase: order}})
	for i, r := range results {
		if got := r.Err != nil && strings.Contains(r.Err.Error(), "no time"); got != (i < 2) {
			t.Errorf("order %d: %v", i, r.Err)
		}
	}
	calls = 3
	if _, err := h.tryBuy(order); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	h.verify()
}
