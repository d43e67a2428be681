package license_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// model is a license as the table of commands describes it, independent of the product's code:
// facts in, outcome out.
type model struct {
	owner    string // "" unclaimed, "-" erased
	redeemed bool
	released bool
	held     bool
	chain    []bought
	refunds  [][]int // the links that each refund closed
	tier     int
	events   []string
}

type bought struct {
	tier     int
	external string
	refunded bool
	amount   int64
	credit   int64
	currency string
}

func (m *model) status() string {
	switch {
	case m.ended() || m.held || m.released:
		return "deactivated"
	case m.redeemed:
		return "active"
	default:
		return "inactive"
	}
}

// standing returns the tiers of purchases that are not refunded and are covered by the remaining
// money.
func (m *model) standing() []int {
	left := map[string]int64{}
	for _, b := range m.chain {
		if !b.refunded {
			left[b.currency] += b.amount
		}
	}
	var tiers []int
	for _, b := range m.chain {
		switch {
		case b.refunded:
		case b.amount == 0 && b.credit == 0, left[b.currency] >= b.amount+b.credit:
			tiers = append(tiers, b.tier)
		}
	}
	return tiers
}

func (m *model) ended() bool { return len(m.standing()) == 0 }

// left returns the money of a currency that was not refunded.
func (m *model) left(currency string) (sum int64) {
	for _, b := range m.chain {
		if !b.refunded && b.currency == currency {
			sum += b.amount
		}
	}
	return sum
}

// do changes the facts and returns the event of the change of (status, tier).
func (m *model) do(reason string, change func()) string {
	status, tier := m.status(), m.tier
	change()
	if tiers := m.standing(); len(tiers) > 0 {
		m.tier = tiers[len(tiers)-1]
	}
	kind := map[string]string{"inactive": "purchase", "active": "activate", "deactivated": "deactivate"}[m.status()]
	if m.status() != status || m.tier != tier {
		m.events = append(m.events, fmt.Sprintf("%s %d %s", kind, m.tier, reason))
	}
	return ""
}

// expect runs a command on the model and returns its expected answer.
func (m *model) expect(command, arg string, n int) string {
	switch command {
	case "redeem":
		switch {
		case m.owner != "" && m.owner != arg:
			return "license_not_yours"
		case m.ended():
			return "license_refunded"
		case m.held:
			return "license_held"
		}
		return m.do("redeemed", func() { m.owner, m.redeemed, m.released = arg, true, false })
	case "hold":
		return m.do("held", func() { m.held = true })
	case "reinstate":
		if m.ended() {
			return "license_refunded"
		}
		return m.do("reinstated", func() { m.held = false })
	case "release":
		if m.status() != "active" {
			return "license_not_active"
		}
		return m.do("released", func() { m.released = true })
	case "transfer":
		return m.do("transferred", func() {
			m.released = m.released || m.redeemed && m.owner != arg
			m.owner = arg
		})
	case "erase":
		if m.owner != arg {
			return ""
		}
		return m.do("user_erased", func() { m.owner, m.released = "-", true })
	case "plan":
		return m.expectPlan(strings.Fields(arg), n)
	case "refund":
		return m.expectRefund(0, len(m.chain))
	case "refund-link":
		i := slices.IndexFunc(m.chain, func(b bought) bool { return b.external == arg })
		if i < 0 {
			return "unknown_purchase"
		}
		if slices.ContainsFunc(m.chain[i+1:], func(b bought) bool { return !b.refunded }) && !m.chain[i].refunded {
			return "later_purchase_exists"
		}
		return m.expectRefund(i, i+1)
	case "reported":
		i := slices.IndexFunc(m.chain, func(b bought) bool { return b.external == arg })
		switch {
		case i < 0:
			return "unknown_purchase"
		case m.chain[i].refunded:
			return ""
		}
		return m.expectRefund(i, i+1)
	case "reverse":
		closed := m.refunds[n]
		m.refunds[n] = nil
		return m.do("refund_reversed", func() {
			for _, i := range closed {
				m.chain[i].refunded = false
			}
		})
	}
	panic(command)
}

// expectPlan returns the expected answer to a plan change, given in the words of planChange.
func (m *model) expectPlan(words []string, tier int) string {
	b := bought{tier: tier}
	if len(words) > 0 {
		b.external = words[0]
	}
	mode := "api"
	if len(words) > 1 {
		b.amount, _ = strconv.ParseInt(words[1], 10, 64)
		b.credit, _ = strconv.ParseInt(words[3], 10, 64)
		b.currency, mode = words[2], words[4]
	}
	switch {
	case mode == "paid" && b.credit > 0: // money has moved
	case mode != "paid" && tier > 3:
		return "unknown_tier"
	case m.ended():
		return "license_refunded"
	case mode == "shop" && m.held:
		return "license_held"
	case mode != "paid" && b.credit > m.left(b.currency):
		return "credit_gone"
	case tier == m.tier && b.external == "":
		return ""
	}
	return m.do("plan_changed", func() { m.chain = append(m.chain, b) })
}

func (m *model) expectRefund(from, to int) string {
	var closed []int
	for i := from; i < to; i++ {
		if !m.chain[i].refunded {
			closed = append(closed, i)
		}
	}
	if closed == nil {
		return "already_refunded"
	}
	m.refunds = append(m.refunds, closed)
	return m.do("refunded", func() {
		for _, i := range closed {
			m.chain[i].refunded = true
		}
	})
}

// TestAnySequenceOfCommands checks that any sequence of commands has the results of the table of
// commands: the same answers, events and end state, with sales and cut connections in between.
func TestAnySequenceOfCommands(t *testing.T) {
	c := &cutter{}
	h := newHarnessOn(t, sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: c.cut}))
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		partner := h.partner()
		name := func(who string) string { return fmt.Sprintf("%s%d", who, round) }
		order := license.Purchase{PartnerID: partner, Tier: rapid.IntRange(1, 3).Draw(rt, "tier"), ExternalID: "base"}
		order.AmountCents = rapid.SampledFrom([]int64{0, 59, 179}).Draw(rt, "amount")
		if order.AmountCents > 0 {
			order.Currency = "USD"
		}
		m := &model{tier: order.Tier, chain: []bought{{tier: order.Tier, external: "base", amount: order.AmountCents, currency: order.Currency}}}
		if rapid.Bool().Draw(rt, "claimed") {
			ann := person(name("ann"))
			order.Buyer, m.owner = &ann, name("ann")
		}
		m.events = []string{fmt.Sprintf("purchase %d purchased", order.Tier)}
		s := &script{harness: h, l: h.buy(order)[0]}
		sets := newCounter(h, c, order, s.l)
		who := rapid.SampledFrom([]string{"ann", "bob", "cyd"})
		externals := 0
		step := func(command, arg string, n int, line string) {
			before := h.license(s.l.Key)
			want := m.expect(command, arg, n)
			if got := s.run(line); got != want {
				rt.Fatalf("%s: got %q, want %q, of %+v", line, got, want, m)
			}
			after := h.license(s.l.Key)
			if want != "" && after != before {
				rt.Fatalf("%s was refused and changed %+v to %+v (6)", line, before, after)
			}
			if after.Status.String() != m.status() || after.Tier != m.tier || after.Ended != m.ended() {
				rt.Fatalf("%s: the license is %s of tier %d (ended: %t), want %s of %d (%t)", line, after.Status, after.Tier, after.Ended, m.status(), m.tier, m.ended())
			}
			if moved := after.UpdatedAt != before.UpdatedAt; moved != (after.Status != before.Status || after.Tier != before.Tier) || after.UpdatedAt.Before(before.UpdatedAt) {
				rt.Fatalf("%s moved updated_at from %s to %s (11)", line, before.UpdatedAt, after.UpdatedAt)
			}
		}
		actions := map[string]func(*rapid.T){
			"refund": func(*rapid.T) { step("refund", "", 0, "refund") },
			"set":    func(rt *rapid.T) { sets.set(rt, name("dan")) },
		}
		for _, c := range []string{"hold", "reinstate", "release"} {
			actions[c] = func(*rapid.T) { step(c, "", 0, c) }
		}
		for _, c := range []string{"redeem", "transfer", "erase"} {
			actions[c] = func(rt *rapid.T) { w := name(who.Draw(rt, "who")); step(c, w, 0, c+" "+w) }
		}
		actions["plan"] = func(rt *rapid.T) {
			external, tier := "", rapid.IntRange(1, 4).Draw(rt, "tier")
			if rapid.Bool().Draw(rt, "external") {
				externals++
				external = fmt.Sprintf("x%d", externals)
			}
			step("plan", external, tier, fmt.Sprintf("plan %d %s", tier, external))
		}
		actions["shop plan"] = func(rt *rapid.T) {
			externals++
			tier := rapid.IntRange(1, 3).Draw(rt, "tier")
			mode := rapid.SampledFrom([]string{"shop", "paid", "api"}).Draw(rt, "mode")
			currency := rapid.SampledFrom([]string{"USD", "USD", "USD", "EUR"}).Draw(rt, "currency")
			var amount, credit int64
			if mode != "api" {
				credit = rapid.SampledFrom([]int64{0, 59, 120, 179, m.left(currency)}).Draw(rt, "credit")
			}
			if mode != "shop" {
				amount = rapid.SampledFrom([]int64{0, 60, 120}).Draw(rt, "amount")
			}
			words := fmt.Sprintf("x%d %d %s %d %s", externals, amount, currency, credit, mode)
			step("plan", words, tier, fmt.Sprintf("plan %d %s", tier, words))
		}
		for _, c := range []string{"refund-link", "reported"} {
			actions[c] = func(rt *rapid.T) {
				x := "base"
				if n := rapid.IntRange(0, externals+1).Draw(rt, "which"); n > 0 {
					x = fmt.Sprintf("x%d", n)
				}
				step(c, x, 0, c+" "+x)
			}
		}
		actions["reverse"] = func(rt *rapid.T) {
			if len(m.refunds) == 0 {
				rt.Skip("nothing to reverse")
			}
			n := rapid.IntRange(0, len(m.refunds)-1).Draw(rt, "refund")
			s.refunds = append(s.refunds, s.refunds[n]) // run reverses the last
			step("reverse", "", n, "reverse")
			s.refunds = s.refunds[:len(s.refunds)-1]
		}
		rt.Repeat(actions)
		var got []string
		for _, e := range h.history(s.l) {
			got = append(got, fmt.Sprintf("%s %d %s", e.Kind, e.Tier, e.Reason))
		}
		if len(m.events) <= 100 {
			if diff := cmp.Diff(m.events, got); diff != "" {
				rt.Fatalf("events (-want +got)\n%s", diff)
			}
		}
	})
	h.verify()
}

// TestCommandsAllAtOnce runs concurrent commands on few licenses of two partners and checks that
// every invariant holds afterwards.
func TestCommandsAllAtOnce(t *testing.T) {
	var h *harness
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		if round%25 == 0 { // verify reads everything from earlier rounds
			h = newHarness(t)
		}
		round++
		var scripts []*script
		for range 2 {
			for _, l := range h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 2, ExternalID: "base"}) {
				scripts = append(scripts, &script{harness: h, l: l})
			}
		}
		for _, name := range []string{"ann", "bob"} {
			h.user(name)
		}
		command := rapid.SampledFrom([]string{
			"redeem ann", "redeem bob", "hold", "reinstate", "release", "plan 1", "plan 2", "plan 3", "refund",
			"refund-link base", "transfer bob", "activate", "erase ann", "sell s1", "sell s2 s1", "sell s1 s3 s2",
		})
		var wg sync.WaitGroup
		for w := range 8 {
			list := rapid.SliceOfN(command, 4, 12).Draw(rt, "commands")
			wg.Go(func() {
				for i, c := range list {
					s := *scripts[(w+i)%len(scripts)]
					if got := s.run(c); len(got) > 40 { // an error that is no fault
						t.Errorf("%s: %s", c, got)
					}
				}
			})
		}
		wg.Wait()
		h.verify()
		if t.Failed() {
			rt.FailNow()
		}
	})
}
