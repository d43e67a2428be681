package license_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/paging"
)

// script runs commands by name on one license of tier 1, bought by ann.
type script struct {
	*harness
	l       license.License
	refunds []license.Refund
}

// run runs one command and returns the code of its refusal, "" for none.
func (s *script) run(command string) string {
	s.Helper()
	return code(s.err(command))
}

// err runs one command and returns its error.
func (s *script) err(command string) error {
	s.Helper()
	ctx, r, key := s.Context(), s.licenses, s.l.Key
	var err error
	words := strings.Fields(command)
	switch words[0] {
	case "redeem":
		_, err = r.Redeem(ctx, tester, s.l.RedemptionID, s.user(words[1]).ID)
	case "hold":
		_, err = r.Hold(ctx, tester, key, license.HoldOther)
	case "dispute":
		_, err = r.Hold(ctx, tester, key, license.HoldChargeback)
	case "reinstate":
		_, err = r.Reinstate(ctx, tester, key)
	case "release":
		_, err = r.Release(ctx, tester, key)
	case "transfer":
		_, err = r.Transfer(ctx, tester, key, person(words[1]))
	case "activate":
		_, err = r.Activate(ctx, tester, key, nil)
	case "erase":
		_, err = r.EraseUser(ctx, tester, s.user(words[1]).ID)
	case "plan":
		_, err = r.ChangePlan(ctx, tester, key, planChange(words))
	case "refund":
		err = s.refund(license.RefundOrder{LicenseKey: key})
	case "refund-link":
		err = s.refund(license.RefundOrder{PartnerID: s.l.PartnerID, PurchaseExternalID: words[1]})
	case "reported":
		err = s.refund(license.RefundOrder{PartnerID: s.l.PartnerID, PurchaseExternalID: words[1], Reported: true})
	case "sell":
		err = s.sellTogether(words[1:]...)
	case "reverse":
		_, err = r.ReverseRefund(ctx, tester, s.refunds[len(s.refunds)-1].ID)
	default:
		s.Fatalf("no command %q", command)
	}
	return err
}

func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

func (s *script) refund(o license.RefundOrder) error {
	f, err := s.licenses.Refund(s.Context(), tester, o)
	if err == nil && f.ID != 0 {
		s.refunds = append(s.refunds, f)
	}
	return err
}

// planChange parses "plan TIER EXTERNAL-ID AMOUNT CURRENCY CREDIT MODE"; all but the tier are
// optional. The mode is api, shop (a free change) or paid (at the provider).
func planChange(words []string) license.PlanChange {
	c := license.PlanChange{Tier: int(words[1][0] - '0'), ExternalID: word(words, 2)}
	if len(words) > 3 {
		c.AmountCents, _ = strconv.ParseInt(words[3], 10, 64)
		c.Currency = words[4]
		c.Credit, _ = strconv.ParseInt(words[5], 10, 64)
		c.Shop, c.Paid = words[6] != "api", words[6] == "paid"
	}
	return c
}

// steps runs commands and compares their answers. A refused command changes nothing.
func (s *script) steps(t *testing.T, list []string) {
	t.Helper()
	for _, step := range list {
		command, want, _ := strings.Cut(step, " → ")
		before := s.license(s.l.Key)
		if got := s.run(command); got != want {
			t.Fatalf("%s: got %q, want %q", command, got, want)
		}
		if after := s.license(s.l.Key); want != "" && before != after {
			t.Errorf("%s was refused and changed the license\nfrom %+v\nto   %+v", command, before, after)
		}
	}
}

// TestCommands runs scripts. A step is "command → answer"; events and end are the result of the
// whole script.
func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		unclaimed bool
		steps     []string
		events    []string // after the purchase
		end       string
	}{
		"redeem by the owner, twice": {
			steps:  []string{"redeem ann", "redeem ann"},
			events: []string{"activate 1 redeemed"}, end: "active 1",
		},
		"redeem by somebody else": {
			steps: []string{"redeem bob → license_not_yours"}, end: "inactive 1",
		},
		"the first redeemer of an unclaimed license owns it": {
			unclaimed: true, steps: []string{"redeem bob", "redeem ann → license_not_yours"},
			events: []string{"activate 1 redeemed"}, end: "active 1",
		},
		"ownership is checked before refunded and held": {
			steps:  []string{"hold", "refund", "redeem bob → license_not_yours", "redeem ann → license_refunded"},
			events: []string{"deactivate 1 held"}, end: "deactivated 1",
		},
		"hold and reinstate while inactive": {
			steps:  []string{"hold", "redeem ann → license_held", "hold", "reinstate", "reinstate"},
			events: []string{"deactivate 1 held", "purchase 1 reinstated"}, end: "inactive 1",
		},
		"hold and reinstate while active": {
			steps:  []string{"redeem ann", "dispute", "reinstate"},
			events: []string{"activate 1 redeemed", "deactivate 1 chargeback", "activate 1 reinstated"}, end: "active 1",
		},
		"release then hold then redeem": {
			steps:  []string{"redeem ann", "release", "hold", "redeem ann → license_held", "reinstate", "redeem ann"},
			events: []string{"activate 1 redeemed", "deactivate 1 released", "activate 1 redeemed"}, end: "active 1",
		},
		"release of what is not active": {
			steps:  []string{"release → license_not_active", "redeem ann", "release", "release → license_not_active"},
			events: []string{"activate 1 redeemed", "deactivate 1 released"}, end: "deactivated 1",
		},
		"hold then refund": {
			steps:  []string{"redeem ann", "hold", "refund", "refund → already_refunded", "reinstate → license_refunded"},
			events: []string{"activate 1 redeemed", "deactivate 1 held"}, end: "deactivated 1",
		},
		"refund then reinstate": {
			steps:  []string{"redeem ann", "refund", "reinstate → license_refunded", "redeem ann → license_refunded"},
			events: []string{"activate 1 redeemed", "deactivate 1 refunded"}, end: "deactivated 1",
		},
		"a reversed refund leaves held as it is": {
			steps:  []string{"redeem ann", "refund", "hold", "reverse", "reverse", "reinstate"},
			events: []string{"activate 1 redeemed", "deactivate 1 refunded", "activate 1 reinstated"}, end: "active 1",
		},
		"a reversed refund of an active license": {
			steps:  []string{"redeem ann", "refund", "reverse"},
			events: []string{"activate 1 redeemed", "deactivate 1 refunded", "activate 1 refund_reversed"}, end: "active 1",
		},
		"plan change while inactive and active": {
			steps:  []string{"plan 2", "plan 2", "redeem ann", "plan 3", "plan 9 → unknown_tier"},
			events: []string{"purchase 2 plan_changed", "activate 2 redeemed", "activate 3 plan_changed"}, end: "active 3",
		},
		"plan change while held": {
			steps:  []string{"redeem ann", "hold", "plan 3", "reinstate"},
			events: []string{"activate 1 redeemed", "deactivate 1 held", "deactivate 3 plan_changed", "activate 3 reinstated"}, end: "active 3",
		},
		"plan change while refunded": {
			steps: []string{"refund", "plan 2 → license_refunded"}, events: []string{"deactivate 1 refunded"}, end: "deactivated 1",
		},
		"the same tier under a new external id can be refunded": {
			steps: []string{"plan 1 again", "refund-link base → later_purchase_exists", "refund-link again", "refund-link again → already_refunded"},
			end:   "inactive 1",
		},
		"refund of the newest plan change drops the tier back": {
			steps:  []string{"plan 2 up", "plan 3 upper", "refund-link up → later_purchase_exists", "refund-link upper", "refund-link up", "refund-link base"},
			events: []string{"purchase 2 plan_changed", "purchase 3 plan_changed", "purchase 2 refunded", "purchase 1 refunded", "deactivate 1 refunded"},
			end:    "deactivated 1",
		},
		"refund of the whole is one event and keeps the last tier": {
			steps:  []string{"redeem ann", "plan 3 up", "refund", "reverse"},
			events: []string{"activate 1 redeemed", "activate 3 plan_changed", "deactivate 3 refunded", "activate 3 refund_reversed"}, end: "active 3",
		},
		"refund of nothing known": {
			steps: []string{"refund-link nonsense → unknown_purchase"}, end: "inactive 1",
		},
		"transfer while active": {
			steps:  []string{"redeem ann", "transfer bob", "redeem ann → license_not_yours", "redeem bob", "transfer bob"},
			events: []string{"activate 1 redeemed", "deactivate 1 transferred", "activate 1 redeemed"}, end: "active 1",
		},
		"transfer while unredeemed": {
			steps: []string{"transfer bob", "redeem bob"}, events: []string{"activate 1 redeemed"}, end: "active 1",
		},
		"transfer while held": {
			steps:  []string{"redeem ann", "hold", "transfer bob", "reinstate", "redeem bob"},
			events: []string{"activate 1 redeemed", "deactivate 1 held", "activate 1 redeemed"}, end: "active 1",
		},
		"the operator activates": {
			steps: []string{"activate", "activate"}, events: []string{"activate 1 operator"}, end: "active 1",
		},
		"the operator activates what nobody owns": {
			unclaimed: true, steps: []string{"activate → license_unclaimed"}, end: "inactive 1",
		},
		"erase then reinstate": {
			steps:  []string{"redeem ann", "hold", "erase ann", "reinstate", "redeem ann → license_not_yours", "activate → license_not_yours"},
			events: []string{"activate 1 redeemed", "deactivate 1 held"}, end: "deactivated 1",
		},
		"erase while active, then only a transfer revives it": {
			steps:  []string{"redeem ann", "erase ann", "redeem bob → license_not_yours", "transfer bob", "redeem bob"},
			events: []string{"activate 1 redeemed", "deactivate 1 user_erased", "activate 1 redeemed"}, end: "active 1",
		},
		"erase while unredeemed": {
			steps:  []string{"erase ann", "transfer bob", "redeem bob"},
			events: []string{"deactivate 1 user_erased", "activate 1 redeemed"}, end: "active 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			order := license.Purchase{PartnerID: h.partner(), Tier: 1, ExternalID: "base"}
			ann := person("ann")
			if !c.unclaimed {
				order.Buyer = &ann
			}
			s := &script{harness: h, l: h.buy(order)[0]}
			s.steps(t, c.steps)
			got := []string{}
			for _, e := range h.history(s.l) {
				got = append(got, e.Kind.String()+" "+string(rune('0'+e.Tier))+" "+string(e.Reason))
			}
			if diff := cmp.Diff(append([]string{"purchase 1 purchased"}, c.events...), got); diff != "" {
				t.Errorf("events (-want +got)\n%s", diff)
			}
			end := h.license(s.l.Key)
			if got := end.Status.String() + " " + string(rune('0'+end.Tier)); got != c.end {
				t.Errorf("ends %s, want %s", got, c.end)
			}
			if end.Key != s.l.Key || end.RedemptionID != s.l.RedemptionID || !end.CreatedAt.Equal(s.l.CreatedAt) {
				t.Errorf("what never changes did (8): %+v, was %+v", end, s.l)
			}
			h.verify()
		})
	}
}

// TestPreviousTier checks that an event with a new tier has the previous one.
func TestPreviousTier(t *testing.T) {
	h := newHarness(t)
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]}
	for _, c := range []string{"redeem ann", "plan 3", "hold", "plan 2"} {
		if got := s.run(c); got != "" {
			t.Fatal(c, got)
		}
	}
	var got []int
	for _, e := range h.history(s.l) {
		got = append(got, e.PreviousTier)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 0, 3}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReleaseAndTransferVoidTheConnection(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann})[0]}
	epoch := int64(0)
	for _, c := range []struct {
		command string
		raises  bool
	}{
		{"redeem ann", false},
		{"hold", false},
		{"reinstate", false},
		{"release", true},
		{"redeem ann", false},
		{"refund", false},
		{"reverse", false},
		{"transfer bob", true},
		{"redeem bob", false},
		{"erase bob", true},
	} {
		if got := s.run(c.command); got != "" {
			t.Fatal(c.command, got)
		}
		now := h.license(s.l.Key).Epoch
		if (now > epoch) != c.raises {
			t.Errorf("%s: the epoch went from %d to %d", c.command, epoch, now)
		}
		epoch = now
	}
}

func TestExplainNamesEveryCause(t *testing.T) {
	for command, want := range map[string]string{
		"":                        "not activated it yet",
		"redeem ann":              "the buyer has activated it",
		"hold":                    "put it on hold",
		"dispute":                 "payment is disputed",
		"refund":                  "was refunded",
		"erase ann":               "account it belonged to was erased",
		"redeem ann, release":     "disconnected",
		"plan 2":                  "latest plan change",
		"plan 2 a, refund-link a": "refunded plan changes: 1",
	} {
		t.Run(command, func(t *testing.T) {
			h := newHarness(t)
			ann := person("ann")
			s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann})[0]}
			for c := range strings.SplitSeq(command, ", ") {
				if c != "" && s.run(c) != "" {
					t.Fatal(c)
				}
			}
			got, err := h.licenses.Explain(t.Context(), h.license(s.l.Key))
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got, " "); !strings.Contains(all, want) {
				t.Errorf("%q does not say %q", all, want)
			}
		})
	}
}

func TestPurchases(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	ann := person("ann")
	for name, c := range map[string]struct {
		order license.Purchase
		want  string
	}{
		"a tier that is not sold": {license.Purchase{PartnerID: p, Tier: 4}, "unknown_tier"},
		"no such partner":         {license.Purchase{PartnerID: p + 1, Tier: 1}, "unknown_partner"},
		"too many":                {license.Purchase{PartnerID: p, Tier: 1, Quantity: 101}, "invalid_field"},
	} {
		if _, err := h.tryBuy(c.order); code(err) != c.want {
			t.Errorf("%s: got %q, want %q", name, code(err), c.want)
		}
	}
	for _, n := range []int{0, -1} {
		order := license.Purchase{PartnerID: p, Tier: 1, Quantity: n}
		if _, err := h.licenses.Purchase(t.Context(), tester, order); code(err) != "invalid_field" {
			t.Errorf("%d licenses: %v", n, err)
		}
	}
	if n := h.count(`SELECT count(*) FROM licenses`) + h.count(`SELECT count(*) FROM purchases`); n != 0 {
		t.Errorf("refused purchases left %d rows", n)
	}
	all := h.buy(license.Purchase{PartnerID: p, Tier: 2, Quantity: 100, Buyer: &ann})
	owner := h.user("ann").ID
	for i, l := range all {
		if l.OwnerID != owner || l.Tier != 2 || l.Ord != int64(i+1) {
			t.Errorf("license %d: %+v", i, l)
		}
	}
	list, err := h.licenses.List(t.Context(), p, license.Filter{}, paging.First())
	if err != nil || list.Total != 100 || len(list.Licenses) != 100 || list.Licenses[0].Key != all[99].Key {
		t.Errorf("listed %d of %d: %v", len(list.Licenses), list.Total, err)
	}
	h.verify()
}

func TestRefundOfAPurchaseIsAllOrNothing(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	all := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 3, ExternalID: "base"})
	s := &script{harness: h, l: all[1]}
	if got := s.run("plan 2"); got != "" {
		t.Fatal(got)
	}
	whole := license.RefundOrder{PartnerID: p, PurchaseExternalID: "base"}
	if got := code(s.refund(whole)); got != "later_purchase_exists" {
		t.Errorf("got %q", got)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE status = 3`) + h.count(`SELECT count(*) FROM refunds`); n != 0 {
		t.Errorf("a refused refund left %d rows", n)
	}
	one := whole
	one.LicenseKey = all[0].Key
	if got := code(s.refund(one)); got != "" {
		t.Errorf("one of them: got %q", got)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE status = 3`); n != 1 {
		t.Errorf("%d licenses were refunded, want 1", n)
	}
	if got := code(s.refund(license.RefundOrder{PartnerID: h.partner(), LicenseKey: all[2].Key})); got != "unknown_license" {
		t.Errorf("another partner's license: got %q", got)
	}
	h.verify()
}
