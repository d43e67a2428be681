package license_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// acts are acts on a license, by name. Each function prepares the license and returns the act.
type acts map[string]func(s *script) func() error

// Each of these tests is about acts of one kind. See cutOff.

func TestCutOffRefunds(t *testing.T) { cutOff(t, refundActs) }

func TestCutOffRepeats(t *testing.T) { cutOff(t, repeatActs) }

func TestCutOffHolds(t *testing.T) { cutOff(t, holdActs) }

func TestCutOffOwners(t *testing.T) { cutOff(t, ownerActs) }

func TestCutOffSales(t *testing.T) { cutOff(t, saleActs) }

// cutOff checks that each act reports a database that went away before any of its statements. The
// act changes nothing then, and succeeds afterwards.
func cutOff(t *testing.T, list acts) {
	t.Helper()
	for name, prepare := range list {
		t.Run(name, func(t *testing.T) {
			c := &cutter{}
			h := newHarnessOn(t, sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: c.cut}))
			h.licenses.Accounts = h.accounts
			ann := person("ann")
			s := &script{harness: h}
			s.l = h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 2, Buyer: &ann, ExternalID: "base"})[0]
			do := prepare(s)
			run := func() []license.Result { return []license.Result{{Err: do()}} }
			before := h.everything()
			for n := 1; ; n++ {
				got, through := c.cutting(n, run)
				for code(got[0].Err) == idempotency.CodeIdempotencyKeyInUse { // of the cut one
					got, through = c.cutting(n, run)
				}
				if through {
					if got[0].Err != nil || n < 2 {
						t.Errorf("after %d cuts: %v", n-1, got[0].Err)
					}
					break
				}
				if !sqldb.IsUnavailable(got[0].Err) {
					t.Errorf("cut off before statement %d: %v", n, got[0].Err)
				}
				if diff := cmp.Diff(before, h.everything()); diff != "" {
					t.Fatalf("cut off before statement %d, it changed (-before +after)\n%s", n, diff)
				}
			}
			h.verify()
		})
	}
}

// must runs commands without a refusal.
func (s *script) must(commands ...string) {
	s.Helper()
	for _, command := range commands {
		if got := s.run(command); got != "" {
			s.Fatal(command, got)
		}
	}
}

// plain returns an act that runs a command.
func plain(command string, before ...string) func(s *script) func() error {
	return func(s *script) func() error {
		s.must(before...)
		return func() error { return s.err(command) }
	}
}

// refundOf returns an act that refunds an order, after commands.
func refundOf(o license.RefundOrder, before ...string) func(s *script) func() error {
	return func(s *script) func() error {
		s.must(before...)
		if o.PurchaseExternalID == "" {
			o.LicenseKey = s.l.Key
		}
		o.PartnerID = s.l.PartnerID
		return func() error { return errOf(s.licenses.Refund(s.Context(), tester, o)) }
	}
}

var refundActs = acts{
	"a license":  refundOf(license.RefundOrder{ExternalID: "r-1"}, "plan 2 up"),
	"a purchase": refundOf(license.RefundOrder{PurchaseExternalID: "base"}),
	"a paid license": func(s *script) func() error {
		l := s.paid("sold")
		return func() error {
			return errOf(s.licenses.Refund(s.Context(), tester, license.RefundOrder{LicenseKey: l.Key}))
		}
	},
	"the reversal of a paid license": func(s *script) func() error {
		f, err := s.licenses.Refund(s.Context(), tester, license.RefundOrder{LicenseKey: s.paid("sold").Key})
		if err != nil {
			s.Fatal(err)
		}
		return func() error { return errOf(s.licenses.ReverseRefund(s.Context(), tester, f.ID)) }
	},
	"a reported refund": refundOf(license.RefundOrder{PurchaseExternalID: "base", Reported: true}, "plan 2 up"),
	"free links":        refundOf(license.RefundOrder{FreeOnly: true}, "plan 2 up"),
	"a purchase by its id": func(s *script) func() error {
		id := s.count(`SELECT max(id) FROM purchases`)
		order := license.RefundOrder{PurchaseID: id, LicenseKey: s.l.Key}
		return func() error { return errOf(s.licenses.Refund(s.Context(), tester, order)) }
	},
	"the reversal": func(s *script) func() error {
		s.must("plan 2 up", "refund")
		id := s.refunds[0].ID
		return func() error { return errOf(s.licenses.ReverseRefund(s.Context(), tester, id)) }
	},
	"the reversal, once": func(s *script) func() error {
		s.must("refund")
		id := s.refunds[0].ID
		return func() error {
			return errOf(s.licenses.ReverseNew(s.Context(), tester, id, func(*sqldb.Tx, license.Refund) error { return nil }))
		}
	},
}

var repeatActs = acts{
	"a refund by its key": func(s *script) func() error {
		order := license.RefundOrder{LicenseKey: s.l.Key, Idempotency: idempotency.Request{Scope: "t", Key: "k", Body: "b"}}
		return twice(s, func() error { return errOf(s.licenses.Refund(s.Context(), tester, order)) })
	},
	"a refund by its external id": func(s *script) func() error {
		return twice(s, refundOf(license.RefundOrder{ExternalID: "r-1"})(s))
	},
	"a plan change by its key": func(s *script) func() error {
		change := license.PlanChange{Tier: 2, Idempotency: idempotency.Request{Scope: "t", Key: "k", Body: "b"}}
		return twice(s, func() error { return errOf(s.licenses.ChangePlan(s.Context(), tester, s.l.Key, change)) })
	},
	"a plan change by its external id": plain("plan 2 up", "plan 2 up"),
	"a reversal":                       plain("reverse", "refund", "reverse"),
}

// twice does an act once and returns it.
func twice(s *script, do func() error) func() error {
	s.Helper()
	if err := do(); err != nil {
		s.Fatal(err)
	}
	return do
}

var holdActs = acts{
	"a hold":      plain("hold"),
	"the lifting": plain("reinstate", "hold"),
	"a hold beside a dispute": func(s *script) func() error {
		if err := s.licenses.HoldFor(s.Context(), tester, s.l, license.ByDispute("dp_1")); err != nil {
			s.Fatal(err)
		}
		return func() error { return errOf(s.licenses.HoldNew(s.Context(), tester, s.l.Key, license.HoldOther)) }
	},
	"the end of a dispute": func(s *script) func() error {
		if err := s.licenses.HoldFor(s.Context(), tester, s.l, license.ByDispute("dp_1")); err != nil {
			s.Fatal(err)
		}
		s.must("hold")
		return func() error { return s.licenses.LiftFor(s.Context(), tester, s.l, license.ByDispute("dp_1")) }
	},
}

var ownerActs = acts{
	"redeem": func(s *script) func() error {
		ann := s.user("ann").ID
		return func() error { return errOf(s.licenses.Redeem(s.Context(), tester, s.l.RedemptionID, ann)) }
	},
	"redeem what nobody owns": func(s *script) func() error {
		free := s.buy(license.Purchase{PartnerID: s.l.PartnerID, Tier: 1})[0]
		ann := s.user("ann").ID
		return func() error { return errOf(s.licenses.Redeem(s.Context(), tester, free.RedemptionID, ann)) }
	},
	"activate": func(s *script) func() error {
		ann := person("ann")
		return func() error { return errOf(s.licenses.Activate(s.Context(), tester, s.l.Key, &ann)) }
	},
	"release":  plain("release", "redeem ann"),
	"transfer": plain("transfer bob", "redeem ann"),
	"erase":    func(s *script) func() error { return s.erase("ann") },
}

// erase returns an act that erases a person.
func (s *script) erase(name string) func() error {
	id := s.user(name).ID
	return func() error { return errOf(s.licenses.EraseUser(s.Context(), tester, id)) }
}

var saleActs = acts{
	"a plan change":      plain("plan 2 up"),
	"a paid plan change": plain("plan 2 up 100 USD 0 paid"),
	"with amounts": func(s *script) func() error {
		return func() error { return errOf(s.tryBuy(s.priced("sold"))) }
	},
	"in the shop with a limit": func(s *script) func() error { return s.orders(inShop(s.l.PartnerID, 1, person("bob"), "one")) },
	"to a buyer named by id": func(s *script) func() error {
		return s.orders(license.Order{By: tester, Purchase: license.Purchase{PartnerID: s.l.PartnerID, Tier: 1, Quantity: 1, BuyerID: s.user("bob").ID}})
	},
	"a repeat": func(s *script) func() error {
		order := inShop(s.l.PartnerID, 1, person("bob"), "one")
		return twice(s, s.orders(order))
	},
	"a limit": func(s *script) func() error {
		bob := s.user("bob").ID
		return func() error {
			return s.db.Write(s.Context(), func(tx *sqldb.Tx) error {
				if _, err := partner.Lock(tx, s.l.PartnerID).One(s.Context()); err != nil {
					return err
				}
				return s.licenses.Within(tx).CheckLimit(s.Context(), s.l.PartnerID, 1, bob)
			})
		}
	},
	"an import": func(s *script) func() error {
		sold := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
		list := []license.Import{
			{Key: "01234567-89ab-4cde-8f01-23456789abcd", PartnerID: s.l.PartnerID, Tier: 1, Status: event.Active, Email: "eve@example.com", SoldAt: sold},
			{Key: "01234567-89ab-4cde-8f01-23456789abce", PartnerID: s.l.PartnerID, Tier: 2, Status: event.Inactive, SoldAt: sold},
		}
		return func() error {
			results, err := s.licenses.Import(s.Context(), tester, list, license.ImportOptions{Webhooks: true})
			for _, r := range results {
				if err == nil {
					err = r.Err
				}
			}
			return err
		}
	},
}

// priced returns an order of three licenses with a price.
func (s *script) priced(external string) license.Purchase {
	return license.Purchase{
		PartnerID: s.l.PartnerID, Tier: 1, Quantity: 3, AmountCents: 10_000, Currency: "USD", ExternalID: external,
	}
}

// paid sells licenses with a price and returns the first one.
func (s *script) paid(external string) license.License {
	s.Helper()
	return s.buy(s.priced(external))[0]
}

// orders returns an act that sells an order.
func (s *script) orders(o license.Order) func() error {
	return func() error { return errOf(s.licenses.Sell(s.Context(), o)) }
}
