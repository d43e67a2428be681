package license_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// model is a license as the table of commands describes it, separate from the
// product's code: facts in, outcome out.
type model struct {
	owner    string // "" unclaimed, "-" erased
	redeemed bool
	released bool
	held     bool
	chain    []bought
	refunds  [][]int // what each refund closed
	tier     int
	events   []string
}

type bought struct {
	tier     int
	external string
	refunded bool
}

func (m *model) status() string {
	switch {
	case m.refunded() || m.held || m.released:
		return "deactivated"
	case m.redeemed:
		return "active"
	default:
		return "inactive"
	}
}

func (m *model) refunded() bool {
	return !slices.ContainsFunc(m.chain, func(b bought) bool { return !b.refunded })
}

// do changes the facts and writes the event that a change of (status, tier)
// makes.
func (m *model) do(reason string, change func()) string {
	status, tier := m.status(), m.tier
	change()
	for _, b := range m.chain {
		if !b.refunded {
			m.tier = b.tier
		}
	}
	kind := map[string]string{"inactive": "purchase", "active": "activate", "deactivated": "deactivate"}[m.status()]
	if m.status() != status || m.tier != tier {
		m.events = append(m.events, fmt.Sprintf("%s %d %s", kind, m.tier, reason))
	}
	return ""
}

// expect says what a command is answered with, and does it.
func (m *model) expect(command, arg string, n int) string {
	switch command {
	case "redeem":
		switch {
		case m.owner != "" && m.owner != arg:
			return "license_not_yours"
		case m.refunded():
			return "license_refunded"
		case m.held:
			return "license_held"
		}
		return m.do("redeemed", func() { m.owner, m.redeemed, m.released = arg, true, false })
	case "hold":
		return m.do("held", func() { m.held = true })
	case "reinstate":
		if m.refunded() {
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
		return m.expectPlan(arg, n)
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

func (m *model) expectPlan(external string, tier int) string {
	switch {
	case tier > 3:
		return "unknown_tier"
	case m.refunded():
		return "license_refunded"
	case tier == m.tier && external == "":
		return ""
	}
	return m.do("plan_changed", func() { m.chain = append(m.chain, bought{tier: tier, external: external}) })
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

// Any sequence of commands comes to what the table of commands says: the same
// answers, the same events, the same end, whatever the order, and whatever is sold or cut
// off between.
func TestAnySequenceOfCommands(t *testing.T) {
	c := &cutter{}
	h := newHarnessOn(t, sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: c.cut}))
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		partner := h.partner()
		name := func(who string) string { return fmt.Sprintf("%s%d", who, round) }
		order := license.Purchase{PartnerID: partner, Tier: rapid.IntRange(1, 3).Draw(rt, "tier"), ExternalID: "base"}
		m := &model{tier: order.Tier, chain: []bought{{tier: order.Tier, external: "base"}}}
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
			if after.Status.String() != m.status() || after.Tier != m.tier {
				rt.Fatalf("%s: the license is %s of tier %d, want %s of %d", line, after.Status, after.Tier, m.status(), m.tier)
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
		actions["refund-link"] = func(rt *rapid.T) {
			x := "base"
			if n := rapid.IntRange(0, externals+1).Draw(rt, "which"); n > 0 {
				x = fmt.Sprintf("x%d", n)
			}
			step("refund-link", x, 0, "refund-link "+x)
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

// Commands that come all at once, to few licenses of two partners, leave a state
// in which every invariant holds, whoever came first.
func TestCommandsAllAtOnce(t *testing.T) {
	var h *harness
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		if round%25 == 0 { // verify reads all that the rounds before have left
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
