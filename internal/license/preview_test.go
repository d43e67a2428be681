package license_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// everything returns values from the tables of licenses, holds, events, purchases, refunds and the
// audit that change with every change.
func (h *harness) everything() []string {
	h.Helper()
	var all []string
	for _, sql := range []string{
		`SELECT license_key || status || tier || owner_id || held || epoch || updated_at FROM licenses ORDER BY id`,
		`SELECT license_id || ':' || seq || ':' || refund_id FROM purchase_links ORDER BY license_id, seq`,
		`SELECT license_id || ':' || cause FROM license_holds ORDER BY license_id, cause`,
		`SELECT CAST(count(*) AS TEXT) FROM events`, `SELECT CAST(count(*) AS TEXT) FROM deliveries`, `SELECT CAST(count(*) AS TEXT) FROM audit_entries`,
		`SELECT CAST(count(*) AS TEXT) FROM refunds WHERE reversed_at = 0`, `SELECT CAST(count(*) AS TEXT) FROM refund_items`, `SELECT CAST(count(*) AS TEXT) FROM purchases`,
		`SELECT email || erased_at FROM users ORDER BY id`, `SELECT CAST(count(*) AS TEXT) FROM idempotency_keys`,
		`SELECT kind || source || lines FROM ledger_postings ORDER BY id`, `SELECT account || amount FROM ledger_balances ORDER BY account, currency`,
	} {
		rows, err := sqldb.All(h.Context(), h.db, sqldb.Value[string], sql)
		if err != nil {
			h.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// TestPreviewSaysWhatTheActDoes checks for every act that the preview changes nothing, and that the
// act then has the same effects or the same refusal.
func TestPreviewSaysWhatTheActDoes(t *testing.T) {
	h := newHarness(t)
	p, ann := h.partner(), person("ann")
	user, _ := h.user("ann"), h.user("bob")
	sold := func() license.License { return h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})[0] }
	upgraded := func() license.License {
		l := sold()
		l, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "up " + l.Key})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	held := func() license.License {
		l, err := h.licenses.Hold(t.Context(), tester, sold().Key, license.HoldOther)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	active := func() license.License {
		l, err := h.licenses.Activate(t.Context(), tester, sold().Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	refund := func(o license.RefundOrder) func(*license.Store, license.License) error {
		return func(r *license.Store, l license.License) error {
			o.LicenseKey, o.ExternalID = l.Key, "refund "+l.Key
			_, err := r.Refund(t.Context(), tester, o)
			return err
		}
	}
	refunded := func() license.License {
		l := upgraded()
		if err := refund(license.RefundOrder{})(h.licenses, l); err != nil {
			t.Fatal(err)
		}
		return h.license(l.Key)
	}
	var back int64 // the refund of refunded
	first := func(l license.License) int64 {
		d, err := h.licenses.Inspect(t.Context(), l.Key)
		if err != nil {
			t.Fatal(err)
		}
		return d.Links[0].Sale.ID
	}
	for name, c := range map[string]struct {
		make func() license.License
		act  func(*license.Store, license.License) error
		want event.Kind
		code string
	}{
		"refund": {sold, refund(license.RefundOrder{}), event.Deactivate, ""},
		"refund of the newest link": {upgraded, func(r *license.Store, l license.License) error {
			d, err := h.licenses.Inspect(t.Context(), l.Key)
			if err != nil {
				return err
			}
			return refund(license.RefundOrder{PurchaseID: d.Links[1].Sale.ID})(r, l)
		}, event.Purchase, ""},
		"refund of an older link": {upgraded, func(r *license.Store, l license.License) error {
			return refund(license.RefundOrder{PurchaseID: first(l)})(r, l)
		}, 0, "later_purchase_exists"},
		"hold": {sold, func(r *license.Store, l license.License) error {
			_, err := r.Hold(t.Context(), tester, l.Key, license.HoldChargeback)
			return err
		}, event.Deactivate, ""},
		"reinstate": {held, func(r *license.Store, l license.License) error {
			_, err := r.Reinstate(t.Context(), tester, l.Key)
			return err
		}, event.Purchase, ""},
		"release of what is not active": {sold, func(r *license.Store, l license.License) error {
			_, err := r.Release(t.Context(), tester, l.Key)
			return err
		}, 0, license.CodeLicenseNotActive},
		"reverse": {refunded, func(r *license.Store, l license.License) error {
			list, err := h.licenses.StandingRefunds(t.Context(), []int64{l.ID})
			if err != nil {
				return err
			}
			if len(list) > 0 {
				back = list[0].ID
			}
			_, err = r.ReverseRefund(t.Context(), tester, back)
			return err
		}, event.Purchase, ""},
		"transfer": {active, func(r *license.Store, l license.License) error {
			_, err := r.Transfer(t.Context(), tester, l.Key, person("bob"))
			return err
		}, event.Deactivate, ""},
		"plan": {sold, func(r *license.Store, l license.License) error {
			_, err := r.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 3, ExternalID: "plan " + l.Key})
			return err
		}, event.Purchase, ""},
	} {
		t.Run(name, func(t *testing.T) { h.previewThenAct(t, c.make(), c.act, c.want, c.code) })
	}
	l := sold() // last: an erasure takes all licenses of ann
	erase := func(r *license.Store, _ license.License) error {
		_, err := r.EraseUser(t.Context(), tester, user.ID)
		return err
	}
	t.Run("erase", func(t *testing.T) { h.previewThenAct(t, l, erase, event.Deactivate, "") })
}

// closedLinks counts the refunded purchases of a license.
func (h *harness) closedLinks(l license.License) (n int) {
	h.Helper()
	d, err := h.licenses.Inspect(h.Context(), l.Key)
	if err != nil {
		h.Fatal(err)
	}
	for _, k := range d.Links {
		if !k.Open() {
			n++
		}
	}
	if d.Refunded() != (n == len(d.Links)) {
		h.Errorf("refunded: %t, with %d of %d purchases", d.Refunded(), n, len(d.Links))
	}
	return n
}

func (h *harness) previewThenAct(t *testing.T, l license.License, act func(*license.Store, license.License) error, want event.Kind, refusal string) {
	t.Helper()
	before, closed := h.everything(), h.closedLinks(l)
	h.licenses.Tell = func(context.Context, *sqldb.Tx, []license.News) error {
		t.Error("the preview tells somebody")
		return nil
	}
	effects, err := h.licenses.Preview(func(r *license.Store) error { return act(r, l) })
	h.licenses.Tell = nil
	if diff := cmp.Diff(before, h.everything()); diff != "" {
		t.Fatalf("the preview changed something:\n%s", diff)
	}
	if code(err) != refusal {
		t.Fatalf("the preview answers %v, want %q", err, refusal)
	}
	if code(act(h.licenses, l)) != refusal {
		t.Fatal("the act and its preview do not agree")
	}
	if refusal != "" {
		return
	}
	var of license.Effect
	for _, e := range effects {
		if e.Before.Key == l.Key {
			of = e
		}
	}
	now := h.license(l.Key)
	if of.After.Status != now.Status || of.After.Tier != now.Tier || of.After.Held != now.Held || of.After.OwnerID != now.OwnerID || of.Event != want {
		t.Errorf("the preview said %+v, it became %+v", of, now)
	}
	if got, want := of.Refunded-of.Reopened, h.closedLinks(l)-closed; got != want || of.Refunded > 0 && of.Reopened > 0 {
		t.Errorf("the preview refunds %d purchases and reopens %d, want %d more refunded ones", of.Refunded, of.Reopened, want)
	}
	events := h.history(l)
	if last := events[len(events)-1]; last.Kind != of.Event || last.Reason != of.Reason {
		t.Errorf("the preview said %v %v, the event is %v %v", of.Event, of.Reason, last.Kind, last.Reason)
	}
}

// TestIfUnchangedRefusesWhatChanged checks that an act is refused and does nothing after any
// concurrent change of the license.
func TestIfUnchangedRefusesWhatChanged(t *testing.T) {
	h := newHarness(t)
	p, ann := h.partner(), person("ann")
	changes := map[string]func(key string) error{
		"hold": func(key string) error {
			_, err := h.licenses.Hold(t.Context(), tester, key, license.HoldOther)
			return err
		},
		"plan of the same tier": func(key string) error {
			_, err := h.licenses.ChangePlan(t.Context(), tester, key, license.PlanChange{Tier: 1, ExternalID: "same " + key})
			return err
		},
		"owner": func(key string) error {
			_, err := h.licenses.Transfer(t.Context(), tester, key, person("bob"))
			return err
		},
		"refund and its reverse": func(key string) error {
			f, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: key, ExternalID: "r " + key})
			if err == nil {
				_, err = h.licenses.ReverseRefund(t.Context(), tester, f.ID)
			}
			return err
		},
	}
	acts := map[string]func(*license.Store, string) error{
		"hold": func(r *license.Store, key string) error {
			_, err := r.Hold(t.Context(), tester, key, license.HoldChargeback)
			return err
		},
		"refund": func(r *license.Store, key string) error {
			_, err := r.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: key, ExternalID: "late " + key})
			return err
		},
		"plan": func(r *license.Store, key string) error {
			_, err := r.ChangePlan(t.Context(), tester, key, license.PlanChange{Tier: 2})
			return err
		},
	}
	for change, do := range changes {
		for act, late := range acts {
			l := h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})[0]
			d, err := h.licenses.Inspect(t.Context(), l.Key)
			if err != nil {
				t.Fatal(err)
			}
			if err := do(l.Key); err != nil {
				t.Fatal(change, err)
			}
			before, strict := h.everything(), h.licenses.IfUnchanged(map[string]string{l.Key: d.Version})
			err = late(strict, l.Key)
			if change == "refund and its reverse" {
				if err != nil { // it is again as it was shown
					t.Errorf("%s after %s: %v", act, change, err)
				}
				continue
			}
			if code(err) != license.CodeLicenseChanged {
				t.Errorf("%s after %s: %v", act, change, err)
			}
			if diff := cmp.Diff(before, h.everything()); diff != "" {
				t.Errorf("%s after %s changed something:\n%s", act, change, diff)
			}
			if err := late(h.licenses, l.Key); err != nil {
				t.Errorf("%s without the check: %v", act, err)
			}
		}
	}
}
