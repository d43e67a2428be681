package export_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/requestlog"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// harness is an application with two partners and more licenses than fit into one batch.
type harness struct {
	*apptest.Harness
	clock        *apptest.Clock
	ours, theirs partner.Partner
	one          license.License
}

const perPartner = 600

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{clock: apptest.StoppedClock(noon)}
	h.Harness = apptest.New(t, h.clock.Set)
	for name, p := range map[string]*partner.Partner{"Ours": &h.ours, "Theirs": &h.theirs} {
		*p, _ = h.Partner(name, profile.URLs{})
		h.Plans(p.ID, 2, partner.Plan{PriceCents: 100, Currency: "USD"})
		for range perPartner / 100 {
			h.one = h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 100, Buyer: &account.Person{Email: "ann@example.com"}})
		}
	}
	h.one = h.Buy(license.Purchase{PartnerID: h.ours.ID, Tier: 2, Quantity: 1, ExternalID: "order-1", Buyer: &account.Person{Email: "+bea@example.com", Name: "Bea"}})
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, h.one.Key, license.HoldOther)
	h.Must(err)
	return h
}

// rows exports a table and returns its rows, without the final line.
func (h *harness) rows(table export.Table) (rows []map[string]any, text string) {
	h.Helper()
	var b bytes.Buffer
	h.Must(h.Exports.Run(h.Context(), &b, export.Job{Table: table, Format: export.NDJSON, By: person, Check: anybody}))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines {
		var row map[string]any
		h.Must(json.Unmarshal([]byte(line), &row))
		rows = append(rows, row)
	}
	last := len(rows) - 1
	if rows[last]["export_complete"] != true || rows[last]["rows"] != float64(last) {
		h.Errorf("the last line is %s", lines[last])
	}
	return rows[:last], b.String()
}

// TestOperatorLists: each list is exported completely, each row once, newest first, and narrowed by
// its filters.
func TestOperatorLists(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		kind  export.Kind
		query string
		key   string
		want  int
	}{
		{export.Licenses, "", "license_key", 2*perPartner + 1},
		{export.Licenses, "partner_id=" + id(h.ours), "license_key", perPartner + 1},
		{export.Licenses, "status=deactivated", "license_key", 1},
		{export.Licenses, "status=inactive&partner_id=" + id(h.theirs), "license_key", perPartner},
		{export.Licenses, "email=ann@example.com", "license_key", 2 * perPartner},
		{export.Licenses, "email=nobody@example.com", "license_key", 0},
		{export.Licenses, "tier=2", "license_key", 1},
		{export.Licenses, "external_id=order-1", "license_key", 1},
		{export.Licenses, "license_key=" + h.one.Key, "license_key", 1},
		{export.Licenses, "license_key=" + h.one.Key[30:], "license_key", 1},
		{export.Licenses, "to=2026-11-15T12:00:00Z", "license_key", 0},
		{export.Licenses, "from=2026-11-15T12:00:00Z", "license_key", 2*perPartner + 1},
		{export.Purchases, "", "id", 13},
		{export.Purchases, "partner_id=" + id(h.theirs), "id", 6},
		{export.Purchases, "external_id=order-1", "id", 1},
		{export.Purchases, "from=2026-11-15T12:00:01Z", "id", 0},
		{export.Purchases, "email=+bea@example.com", "id", 1},
		{export.Purchases, "email=ann@example.com&partner_id=" + id(h.ours), "id", 6},
		{export.Purchases, "email=nobody@example.com", "id", 0},
		{export.Events, "", "event_id", 2*perPartner + 2},
		{export.Events, "partner_id=" + id(h.ours), "event_id", perPartner + 2},
		{export.Events, "event=deactivate", "event_id", 1},
		{export.Events, "license_key=" + h.one.Key, "event_id", 2},
		{export.Events, "license_key=" + h.one.Key + "&partner_id=" + id(h.theirs), "event_id", 0},
		{export.Audit, "action=license.hold", "id", 1},
		{export.Audit, "subject=license:" + h.one.Key, "id", 1},
		{export.Audit, "actor=token", "id", 0},
	} {
		q, err := url.ParseQuery(strings.ReplaceAll(c.query, "+", "%2B"))
		h.Must(err)
		table, err := h.Exports.OperatorTable(t.Context(), c.kind, q)
		h.Must(err)
		if about, err := table.About(t.Context()); err != nil || about.Known() && (about.Rows != int64(c.want)) {
			t.Errorf("%s %s: about %+v, %v; want %d", c.kind, c.query, about, err, c.want)
		}
		counted := c.query == "" && c.kind != export.Orders || c.query == "status=inactive&partner_id="+id(h.theirs)
		if about, err := table.About(t.Context()); err != nil || counted && !about.Known() {
			t.Errorf("%s %s: about %+v, %v; want a number", c.kind, c.query, about, err)
		}
		rows, _ := h.rows(table)
		seen := map[any]bool{}
		for _, r := range rows {
			seen[r[c.key]] = true
		}
		if len(rows) != c.want || len(seen) != c.want {
			t.Errorf("%s %s: %d rows, %d of them different; want %d", c.kind, c.query, len(rows), len(seen), c.want)
		}
	}
}

// TestAuditSaysForWhom: the audit file shows the partner that a person acted for, and the support
// visit.
func TestAuditSaysForWhom(t *testing.T) {
	h := newHarness(t)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		audit.Record(tx, h.Accounts.Now(), audit.Actor{Kind: audit.ByUser, ID: 3, ActingFor: h.ours.ID, SupportVisit: 7}, "profile.urls", "partner:"+id(h.ours), nil, nil)
		return nil
	}))
	rows, _ := h.rows(h.Exports.OperatorAudit(audit.Filter{Action: "profile.urls", ActorKind: audit.ByUser}))
	if len(rows) != 1 || rows[0]["acting_for"] != float64(h.ours.ID) || rows[0]["support_visit"] != 7.0 {
		t.Errorf("%v", rows)
	}
	ann := h.User("ann@example.com")
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, by := range []audit.Actor{{Kind: audit.ByUser, ID: ann.ID}, {Kind: audit.ByToken, ID: 99, Name: "back office"}} {
			audit.Record(tx, h.Accounts.Now(), by, "test.act", "partner:"+id(h.ours), nil, nil)
		}
		return nil
	}))
	want := h.names(ann.ID)
	rows, _ = h.rows(h.Exports.OperatorAudit(audit.Filter{Action: "test.act"}))
	if len(rows) != 2 || want == "" || rows[0]["actor_name"] != "back office" || rows[1]["actor_name"] != want {
		t.Errorf("%v, want the name %q", rows, want)
	}
	rows, _ = h.rows(h.Exports.OperatorAudit(audit.Filter{Action: "license.hold"}))
	if len(rows) != 1 || rows[0]["acting_for"] != nil || rows[0]["support_visit"] != nil {
		t.Errorf("%v", rows)
	}
}

// names returns the name of a user in the audit.
func (h *harness) names(userID int64) string {
	h.Helper()
	names, err := h.Accounts.Names(h.Context(), []int64{userID})
	h.Must(err)
	return names[userID]
}

// TestPreviousTier: the event of a plan change has the tier before, and no other event has one.
func TestPreviousTier(t *testing.T) {
	h := newHarness(t)
	l := h.Buy(license.Purchase{PartnerID: h.ours.ID, Tier: 1, Quantity: 1})
	_, err := h.Licenses.ChangePlan(t.Context(), apptest.Tester, l.Key, license.PlanChange{Tier: 2})
	h.Must(err)
	rows, _ := h.rows(h.Exports.OperatorEvents(event.Walk{LicenseID: l.ID}))
	if len(rows) != 2 || rows[0]["previous_tier"] != 1.0 || rows[1]["previous_tier"] != nil {
		t.Errorf("%v", rows)
	}
}

// TestWhatOperatorsSee: the marketplace's files contain owners and buyers.
func TestWhatOperatorsSee(t *testing.T) {
	h := newHarness(t)
	for _, kind := range []export.Kind{export.Licenses, export.Purchases} {
		table, err := h.Exports.OperatorTable(t.Context(), kind, url.Values{"external_id": {"order-1"}})
		h.Must(err)
		if _, text := h.rows(table); !strings.Contains(text, `"+bea@example.com"`) {
			t.Errorf("%s: %s", kind, text)
		}
	}
	for query, field := range map[string]string{
		"partner_id=x": "partner_id", "status=odd": "status", "tier=0": "tier", "from=yesterday": "from", "to=0001-01-01T00:00:00Z": "to", "license_key=zz": "license_key",
	} {
		q, _ := url.ParseQuery(query)
		table, err := h.Exports.OperatorTable(t.Context(), export.Licenses, q)
		if err == nil {
			_, _, err = table.Next(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := h.Exports.OperatorTable(t.Context(), export.Deliveries, nil); err == nil {
		t.Error("deliveries are of partners")
	}
}

// TestPartnerLists: a partner's files contain its own rows, and never a buyer or an operator's
// note.
func TestPartnerLists(t *testing.T) {
	h := newHarness(t)
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, h.ours.ID, "secret words about fraud")
	h.Must(err)
	for kind, c := range map[export.Kind]struct {
		table export.Table
		want  int
	}{
		export.Licenses:   {h.Exports.PartnerLicenses(h.ours.ID, license.Find{}), perPartner + 1},
		"one license":     {h.Exports.PartnerLicenses(h.ours.ID, license.Find{Tier: 2}), 1},
		export.Deliveries: {h.Exports.PartnerDeliveries(h.ours.ID, history.Filter{}), perPartner + 2},
		"one delivery":    {h.Exports.PartnerDeliveries(h.ours.ID, history.Filter{Kind: 3}), 1},
		export.Requests:   {h.Exports.PartnerRequests(h.ours.ID, requestlog.Filter{}), 0},
		export.Audit:      {h.Exports.PartnerAudit(h.ours.ID, audit.Span{}), int(h.Count(`SELECT count(*) FROM audit_entries WHERE partner_id = $1`, h.ours.ID))},
	} {
		rows, text := h.rows(c.table)
		if len(rows) != c.want {
			t.Errorf("%s: %d rows, want %d", kind, len(rows), c.want)
		}
		for _, hidden := range []string{"@example.com", "Bea", "fraud"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s has %q in it", kind, hidden)
			}
		}
	}
}
