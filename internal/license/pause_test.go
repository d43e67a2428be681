package license_test

import (
	"strings"
	"sync"
	"testing"

	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// pause pauses or resumes a partner.
func (h *harness) pause(partnerID int64, paused bool) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) (err error) {
		if paused {
			_, err = h.partners.Pause(h.Context(), tx, tester, partnerID, "unpaid invoice")
		} else {
			_, err = h.partners.Resume(h.Context(), tx, tester, partnerID)
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
}

// TestPausedPartner tries every command while the partner is paused: sales, plan changes and
// redemptions are refused and change nothing, all else continues.
func TestPausedPartner(t *testing.T) {
	type refusable func(h *harness, l license.License) error
	ctx := t.Context()
	ann := person("ann")
	for name, c := range map[string]struct {
		do   refusable
		code string
	}{
		"purchase": {func(h *harness, l license.License) error {
			_, err := h.tryBuy(license.Purchase{PartnerID: l.PartnerID, Tier: 1, Buyer: &ann})
			return err
		}, "partner_paused"},
		"plan change": {func(h *harness, l license.License) error {
			_, err := h.licenses.ChangePlan(ctx, tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "c-2"})
			return err
		}, "partner_paused"},
		"redeem": {func(h *harness, l license.License) error {
			_, err := h.licenses.Redeem(ctx, tester, l.RedemptionID, l.OwnerID)
			return err
		}, "partner_paused"},
		"redeem by somebody else": {func(h *harness, l license.License) error {
			_, err := h.licenses.Redeem(ctx, tester, l.RedemptionID, l.OwnerID+1)
			return err
		}, "license_not_yours"},
		"activate": {func(h *harness, l license.License) error {
			_, err := h.licenses.Activate(ctx, tester, l.Key, nil)
			return err
		}, "partner_paused"},
		"activate for somebody new": {func(h *harness, l license.License) error {
			h.pause(l.PartnerID, false)
			free := h.buy(license.Purchase{PartnerID: l.PartnerID, Tier: 1})[0]
			h.pause(l.PartnerID, true)
			eve := person("eve")
			before := h.count(`SELECT count(*) FROM users`)
			_, err := h.licenses.Activate(ctx, tester, free.Key, &eve)
			if h.count(`SELECT count(*) FROM users`) != before {
				h.Error("a refused activation made a user")
			}
			return err
		}, "partner_paused"},
		"refund": {func(h *harness, l license.License) error {
			_, err := h.licenses.Refund(ctx, tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: "r"})
			return err
		}, ""},
		"hold and reinstate": {func(h *harness, l license.License) error {
			if _, err := h.licenses.Hold(ctx, tester, l.Key, license.HoldChargeback); err != nil {
				return err
			}
			_, err := h.licenses.Reinstate(ctx, tester, l.Key)
			return err
		}, ""},
		"release": {func(h *harness, l license.License) error {
			_, err := h.licenses.Release(ctx, tester, l.Key)
			return err
		}, ""},
		"transfer": {func(h *harness, l license.License) error {
			_, err := h.licenses.Transfer(ctx, tester, l.Key, person("bob"))
			return err
		}, ""},
		"erase": {func(h *harness, l license.License) error {
			_, err := h.licenses.EraseUser(ctx, tester, l.OwnerID)
			return err
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.partner()
			l := h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})[0]
			if _, err := h.licenses.Activate(ctx, tester, l.Key, nil); err != nil {
				t.Fatal(err)
			}
			h.pause(p, true)
			before := h.license(l.Key)
			err := c.do(h, before)
			if code(err) != c.code {
				t.Fatalf("got %v, want %q", err, c.code)
			}
			if c.code == "partner_paused" && (h.license(l.Key) != before || !strings.Contains(err.Error(), "unpaid invoice")) {
				t.Errorf("it changed the license, or does not say why: %v", err)
			}
			h.verify()
			h.pause(p, false)
			if c.code == "partner_paused" {
				if err := c.do(h, before); err != nil && name != "activate for somebody new" {
					t.Errorf("after the pause: %v", err)
				}
			}
		})
	}
}

// TestRepeatsWhilePaused repeats orders from before the pause: each gets its first answer.
func TestRepeatsWhilePaused(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	byID := license.Purchase{PartnerID: p, Tier: 1, Quantity: 1, ExternalID: "o-1"}
	byKey := license.Purchase{PartnerID: p, Tier: 1, Quantity: 1, Idempotency: idempotency.Request{Scope: "t", Key: "k", Body: "b"}}
	change := license.PlanChange{Tier: 2, ExternalID: "c-1"}
	key := h.buy(byID)[0].Key
	orders := []func() (string, error){
		func() (string, error) { return saleText(h.licenses.Purchase(t.Context(), tester, byID)) },
		func() (string, error) { return saleText(h.licenses.Purchase(t.Context(), tester, byKey)) },
		func() (string, error) { return licenseText(h.licenses.ChangePlan(t.Context(), tester, key, change)) },
	}
	var first []string
	for _, order := range orders {
		out, err := order()
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, out)
	}
	h.pause(p, true)
	for i, order := range orders {
		if out, err := order(); err != nil || out != first[i] {
			t.Errorf("order %d repeated: %s, %v", i, out, err)
		}
	}
	other := byID
	other.Tier = 2
	if _, err := h.tryBuy(other); code(err) != "external_id_reused" {
		t.Errorf("other content: %v", err)
	}
}

// TestNothingSlipsThroughAPause sells concurrently while the partner is being paused: after the
// pause returns, there is no further license. With PostgreSQL it uses two nodes.
func TestNothingSlipsThroughAPause(t *testing.T) {
	at := sqldbtest.URL(t)
	nodes := []*harness{newHarnessOn(t, sqldbtest.OpenWith(t, at, sqldb.Options{}))}
	if sqldbtest.Postgres() {
		nodes = append(nodes, newHarnessOn(t, sqldbtest.OpenWith(t, at, sqldb.Options{})))
	}
	p := nodes[0].partner()
	var sellers sync.WaitGroup
	begun := make(chan struct{}, 8)
	for i := range 8 {
		sellers.Go(func() {
			for n := 0; ; n++ {
				if _, err := nodes[i%len(nodes)].tryBuy(license.Purchase{PartnerID: p, Tier: 1}); code(err) == "partner_paused" {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				if n == 0 {
					begun <- struct{}{}
				}
			}
		})
	}
	<-begun
	nodes[0].pause(p, true)
	sold := nodes[0].count(`SELECT count(*) FROM licenses`)
	sellers.Wait()
	if n := nodes[0].count(`SELECT count(*) FROM licenses`); n != sold {
		t.Errorf("%d licenses were sold after the pause", n-sold)
	}
}

// TestExplainWhilePaused checks that an explanation does not send a buyer to a page that refuses,
// and does not contain the operator's reason.
func TestExplainWhilePaused(t *testing.T) {
	const want = "The marketplace has paused this application: no one can activate the license until it is resumed."
	h := newHarness(t)
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]
	explained := func() string {
		t.Helper()
		lines, err := h.licenses.Explain(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	for _, paused := range []bool{true, false} {
		h.pause(l.PartnerID, paused)
		if got := explained(); strings.Contains(got, want) != paused || strings.Contains(got, "unpaid invoice") {
			t.Errorf("paused %t:\n%s", paused, got)
		}
	}
}

// TestPauseTwice pauses and resumes repeatedly: calls that change nothing leave no trace.
func TestPauseTwice(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	audits := func() int64 {
		return h.count(`SELECT count(*) FROM audit_entries WHERE action IN ('partner.pause', 'partner.resume')`)
	}
	h.pause(p, false)
	h.pause(p, true)
	first, err := h.partners.Get(t.Context(), p)
	if err != nil || !first.Paused() || first.PauseReason != "unpaid invoice" {
		t.Fatalf("got %+v, %v", first, err)
	}
	h.pause(p, true)
	if again, err := h.partners.Get(t.Context(), p); err != nil || again != first || audits() != 1 {
		t.Errorf("paused again: %+v, %v, %d entries", again, err, audits())
	}
	h.pause(p, false)
	h.pause(p, false)
	if now, err := h.partners.Get(t.Context(), p); err != nil || now.Paused() || now.PauseReason != "" || audits() != 2 {
		t.Errorf("resumed twice: %+v, %v, %d entries", now, err, audits())
	}
	for name, reason := range map[string]string{"none": " ", "too long": strings.Repeat("x", 256), "two lines": "a\nb"} {
		err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := h.partners.Pause(t.Context(), tx, tester, p, reason)
			return err
		})
		if code(err) != "invalid_field" {
			t.Errorf("a reason that is %s: %v", name, err)
		}
	}
	err = h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := h.partners.Pause(t.Context(), tx, tester, p+1, "x")
		return err
	})
	if code(err) != code(partner.Unknown()) {
		t.Errorf("no such partner: %v", err)
	}
}
