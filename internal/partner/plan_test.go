package partner_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

var pro = partner.Plan{
	Tier: 2, Name: "Pro", PriceCents: 4900, Currency: "USD",
	CheckoutURL: "https://shop.example/pro?x=1", ExternalRef: "sku-2",
}

func TestPutPlan(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	want := pro
	want.CreatedAt, want.UpdatedAt = noon, noon
	for i, created := range []bool{true, false} {
		sent := pro
		sent.Name, sent.Currency = " Pro ", "usd"
		got, isNew, err := d.PutPlan(t.Context(), operator, p.ID, sent)
		if diff := cmp.Diff(want, got); diff != "" || isNew != created || err != nil {
			t.Errorf("put %d: created %v, %v; (-want +got):\n%s", i, isNew, err, diff)
		}
		d.now = d.now.Add(time.Hour)
	}
	want.PriceCents, want.UpdatedAt = 5900, d.now
	dearer := pro
	dearer.PriceCents = 5900
	if got, created, err := d.PutPlan(t.Context(), operator, p.ID, dearer); !cmp.Equal(got, want) || created || err != nil {
		t.Errorf("replaced: %+v, %v, %v; want %+v", got, created, err, want)
	}
	if got, err := d.Plan(t.Context(), p.ID, 2); !cmp.Equal(got, want) || err != nil {
		t.Errorf("Plan = %+v, %v; want %+v", got, err, want)
	}
	if _, _, err := d.PutPlan(t.Context(), operator, p.ID, partner.Plan{Tier: 1, Name: "Free"}); err != nil {
		t.Errorf("a free plan without a currency: %v", err)
	}
	if tier, err := d.HighestTier(t.Context(), p.ID); tier != 2 || err != nil {
		t.Errorf("the highest tier is %d, %v", tier, err)
	}
	list, err := d.Plans(t.Context(), p.ID)
	if err != nil || len(list) != 2 || list[0].Tier != 1 || !cmp.Equal(list[1], want) {
		t.Errorf("Plans = %+v, %v", list, err)
	}
	var actions []string
	for _, e := range d.entries(t, "partner:1/plan:2") {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"plan.create", "plan.update"}, actions); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestPutPlanRefuses(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	with := func(change func(*partner.Plan)) partner.Plan {
		plan := pro
		change(&plan)
		return plan
	}
	for name, c := range map[string]struct {
		plan        partner.Plan
		code, field string
	}{
		"tier 0":              {with(func(p *partner.Plan) { p.Tier = 0 }), "invalid_field", "tier"},
		"tier negative":       {with(func(p *partner.Plan) { p.Tier = -1 }), "invalid_field", "tier"},
		"tier too high":       {with(func(p *partner.Plan) { p.Tier = partner.MaxTier + 1 }), "invalid_field", "tier"},
		"name turned round":   {with(func(p *partner.Plan) { p.Name = "Pro\u202e" }), "invalid_field", "name"},
		"no name":             {with(func(p *partner.Plan) { p.Name = " " }), "invalid_field", "name"},
		"negative price":      {with(func(p *partner.Plan) { p.PriceCents = -1 }), "invalid_field", "price_cents"},
		"huge price":          {with(func(p *partner.Plan) { p.PriceCents = partner.MaxPrice + 1 }), "invalid_field", "price_cents"},
		"price, no currency":  {with(func(p *partner.Plan) { p.Currency = "" }), "invalid_field", "currency"},
		"not a currency":      {with(func(p *partner.Plan) { p.Currency = "US$" }), "invalid_field", "currency"},
		"checkout: no web":    {with(func(p *partner.Plan) { p.CheckoutURL = "javascript:alert(1)" }), "invalid_url", "checkout_url"},
		"reference: too long": {with(func(p *partner.Plan) { p.ExternalRef = strings.Repeat("x", 256) }), "invalid_field", "external_ref"},
		"reference: NUL":      {with(func(p *partner.Plan) { p.ExternalRef = "a\x00b" }), "invalid_field", "external_ref"},
	} {
		_, _, err := d.PutPlan(t.Context(), operator, p.ID, c.plan)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v, want %s on %s", name, err, c.code, c.field)
		}
	}
	if _, _, err := d.PutPlan(t.Context(), operator, 99, pro); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
	if tier, err := d.HighestTier(t.Context(), p.ID); tier != 0 || err != nil {
		t.Errorf("the highest tier of none is %d, %v", tier, err)
	}
	if list, err := d.Plans(t.Context(), p.ID); len(list) != 0 || err != nil {
		t.Errorf("refused plans were stored: %+v, %v", list, err)
	}
}

func TestPutPlanAtOnce(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	var created atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, isNew, err := d.PutPlan(t.Context(), operator, p.ID, pro)
			if err != nil {
				t.Error(err)
			}
			if isNew {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 || len(d.entries(t, "partner:1/plan:2")) != 1 {
		t.Errorf("created %d times", created.Load())
	}
}

func TestUnknownPlan(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	for id, code := range map[int64]string{p.ID: "unknown_plan", 99: "unknown_partner"} {
		if _, err := d.Plan(t.Context(), id, 2); !fault.Is(err, code) {
			t.Errorf("Plan of partner %d: %v, want %s", id, err, code)
		}
		if err := d.DeletePlan(t.Context(), operator, id, 2); !fault.Is(err, code) {
			t.Errorf("DeletePlan of partner %d: %v, want %s", id, err, code)
		}
	}
	if _, err := d.Plans(t.Context(), 99); !fault.Is(err, "unknown_partner") {
		t.Errorf("Plans: %v", err)
	}
}

func TestDeletePlan(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	if _, _, err := d.PutPlan(t.Context(), operator, p.ID, pro); err != nil {
		t.Fatal(err)
	}
	sold := func() (is bool) {
		err := d.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			plan, err := partner.QueuePlan(tx, p.ID, 2).One(t.Context())
			is = err == nil && plan.Name == "Pro"
			if errors.Is(err, sqldb.ErrNone) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if !sold() {
		t.Error("QueuePlan does not find the plan")
	}
	if err := d.DeletePlan(t.Context(), operator, p.ID, 2); err != nil {
		t.Fatal(err)
	}
	if sold() {
		t.Error("a deleted plan is still sold")
	}
	if err := d.DeletePlan(t.Context(), operator, p.ID, 2); !fault.Is(err, "unknown_plan") {
		t.Errorf("deleted again: %v", err)
	}
	if log := d.entries(t, "partner:1/plan:2"); len(log) != 2 || log[1].Action != "plan.delete" || log[1].Before == "" || log[1].After != "" {
		t.Errorf("audit: %+v", log)
	}
}

func TestMembers(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	add := func(user int64, role partner.Role) partner.Member {
		t.Helper()
		m, err := d.AddMember(t.Context(), operator, p.ID, user, role)
		if err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Minute)
		return m
	}
	first := add(7, partner.Viewer)
	add(8, partner.Developer)
	add(7, partner.Viewer)
	changed := add(7, partner.Admin)
	want := partner.Member{PartnerID: p.ID, UserID: 7, Role: partner.Admin, CreatedAt: noon}
	if changed != want || first.Role != partner.Viewer {
		t.Errorf("%+v then %+v, want %+v", first, changed, want)
	}
	list, err := d.Members(t.Context(), p.ID)
	if err != nil || len(list) != 2 || list[0] != want || list[1].UserID != 8 {
		t.Errorf("Members = %+v, %v", list, err)
	}
	other, _ := d.create(t, partner.Draft{Name: "b"})
	if _, err := d.AddMember(t.Context(), operator, other.ID, 7, partner.Viewer); err != nil {
		t.Fatal(err)
	}
	of, err := d.Memberships(t.Context(), 7)
	if err != nil || len(of) != 2 || of[0] != want || of[1].PartnerID != other.ID || of[1].Role != partner.Viewer {
		t.Errorf("Memberships = %+v, %v", of, err)
	}
	if n := len(d.entries(t, "partner:1")); n != 4 { // the partner, two members, one change
		t.Errorf("%d audit entries, want 4", n)
	}
	if _, err := d.AddMember(t.Context(), operator, p.ID, 9, "owner"); !fault.Is(err, "invalid_field") {
		t.Errorf("unknown role: %v", err)
	}
	if _, err := d.AddMember(t.Context(), operator, 99, 9, partner.Admin); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
	err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		return partner.Leave(t.Context(), tx, operator, 7, d.now)
	})
	if list, lerr := d.Members(t.Context(), p.ID); err != nil || lerr != nil || len(list) != 1 {
		t.Errorf("after leaving: %+v, %v, %v", list, err, lerr)
	}
}
