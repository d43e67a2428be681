package export_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/requestlog"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// keys counts the rows of a file by their key.
func (h *harness) keys(table export.Table, between func()) map[any]int {
	h.Helper()
	name := table.Columns[0]
	var text strings.Builder
	h.Must(h.Exports.Run(h.Context(), writer(func(b []byte) error {
		if text.Len() == 0 {
			between()
		}
		text.Write(b)
		return nil
	}), export.Job{Table: table, Format: export.NDJSON, By: person, Check: anybody}))
	found := map[any]int{}
	for line := range strings.Lines(text.String()) {
		row := map[string]any{}
		h.Must(json.Unmarshal([]byte(line), &row))
		if row[name] != nil {
			found[row[name]]++
		}
	}
	return found
}

// TestCutOff: a file contains the rows that existed at the start of the export, each once. Rows
// written meanwhile are not in it, and displace none.
func TestCutOff(t *testing.T) {
	h := newHarness(t)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		ids, err := sqldb.NextIDs(tx, "purchase_ids", 600).All(t.Context()) // more than a batch
		for _, n := range ids {
			audit.Record(tx, noon, apptest.Tester, "partner.change", "partner:"+id(h.ours), nil, nil)
			tx.Queue(`INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, content, created_at)
				SELECT $1, partner_id, kind, '', tier, quantity, amount_cents, currency, user_id, content, created_at FROM purchases WHERE external_id = 'order-1'`, n)
		}
		return err
	}))
	counts := map[string]string{ // none is lost between two batches
		"licenses": `SELECT count(*) FROM licenses`, "purchases": `SELECT count(*) FROM purchases`, "events": `SELECT count(*) FROM events`,
		"audit": `SELECT count(*) FROM audit_entries WHERE subject = 'partner:` + id(h.ours) + `'`,
	}
	for name, table := range map[string]func() export.Table{
		"licenses":             func() export.Table { return h.Exports.OperatorLicenses(license.FindAny{}) },
		"purchases":            func() export.Table { return h.Exports.OperatorPurchases(license.FindSales{}) },
		"events":               func() export.Table { return h.Exports.OperatorEvents(event.Walk{}) },
		"audit":                func() export.Table { return h.Exports.OperatorAudit(audit.Filter{Subject: "partner:" + id(h.ours)}) },
		"a partner's licenses": func() export.Table { return h.Exports.PartnerLicenses(h.ours.ID, license.Find{}) },
		"its inactive ones":    func() export.Table { return h.Exports.PartnerLicenses(h.ours.ID, license.Find{Status: event.Inactive}) },
		"its deliveries":       func() export.Table { return h.Exports.PartnerDeliveries(h.ours.ID, history.Filter{}) },
		"its audit":            func() export.Table { return h.Exports.PartnerAudit(h.ours.ID, audit.Span{}) },
	} {
		want := h.keys(table(), func() {})
		if sql := counts[name]; sql != "" && h.Count(sql) != int64(len(want)) {
			t.Errorf("%s: %d of %d rows are in the file", name, len(want), h.Count(sql))
		}
		got := h.keys(table(), func() { // between the first batch and the next
			h.Buy(license.Purchase{PartnerID: h.ours.ID, Tier: 1, Quantity: 3, Buyer: &account.Person{Email: "cy@example.com"}})
			h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				audit.Record(tx, noon, apptest.Tester, "partner.change", "partner:"+id(h.ours), nil, nil)
				return nil
			}))
		})
		for key, n := range got {
			if n != 1 || want[key] != 1 {
				t.Errorf("%s: %v is there %d times, and was there %d times before", name, key, n, want[key])
			}
		}
		if len(got) != len(want) || len(want) <= 500 { // a single batch shows nothing
			t.Errorf("%s: %d rows, %d before", name, len(got), len(want))
		}
	}
}

// id returns a partner's id as text.
func id(p partner.Partner) string { return strconv.FormatInt(p.ID, 10) }

// TestGroupsAreNotMissed: a group of refused calls that grows during an export moves to the front
// of the list, which the export has already passed.
func TestGroupsAreNotMissed(t *testing.T) {
	h := newHarness(t)
	group := requestlog.Call{PartnerID: h.ours.ID, Method: "GET", Path: "/v2/grouped", Status: 401, Code: "unauthorized"}
	h.Requests.Refused(group)
	h.Must(h.Requests.Flush(t.Context()))
	h.clock.Advance(time.Hour)
	for i := range 600 { // more than a batch
		if i%100 == 0 {
			h.Must(h.Requests.Flush(t.Context()))
		}
		h.Requests.Refused(requestlog.Call{PartnerID: h.ours.ID, Proven: true, Method: "GET", Path: "/v2/own", Status: 404, Code: "unknown"})
	}
	h.Must(h.Requests.Flush(t.Context()))
	table := h.Exports.PartnerRequests(h.ours.ID, requestlog.Filter{})
	var b bytes.Buffer
	h.Must(h.Exports.Run(t.Context(), writer(func(p []byte) error {
		if b.Len() == 0 {
			h.clock.Advance(time.Minute)
			h.Requests.Refused(group)
			h.Must(h.Requests.Flush(t.Context()))
		}
		b.Write(p)
		return nil
	}), export.Job{Table: table, Format: export.NDJSON, By: person, Check: anybody}))
	if n, own := strings.Count(b.String(), `"grouped":true`), strings.Count(b.String(), "/v2/own"); n != 1 || own != 600 {
		t.Errorf("the group is there %d times, the calls %d times", n, own)
	}
}
