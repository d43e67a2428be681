package export_test

import (
	"testing"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/requestlog"
	"claviger/internal/webhook/history"
)

// TestUnreadable: a batch that cannot be read is an error, and never the end of a file that
// says that it is whole.
func TestUnreadable(t *testing.T) {
	h := newHarness(t)
	licenses := func() export.Table { return h.Exports.OperatorLicenses(license.FindAny{}) }
	purchases := func() export.Table { return h.Exports.OperatorPurchases(license.FindSales{}) }
	sent := func() export.Table { return h.Exports.PartnerDeliveries(h.ours.ID, history.Filter{}) }
	own := func() export.Table { return h.Exports.PartnerLicenses(h.ours.ID, license.Find{}) }
	entries := func() export.Table { return h.Exports.OperatorAudit(audit.Filter{}) }
	done := func() export.Table { return h.Exports.PartnerAudit(h.ours.ID, audit.Span{}) }
	calls := func() export.Table { return h.Exports.PartnerRequests(h.ours.ID, requestlog.Filter{}) }
	events := func() export.Table { return h.Exports.OperatorEvents(event.Walk{}) }
	for table, lists := range map[string][]func() export.Table{
		"licenses":      {licenses, own},
		"purchases":     {purchases},
		"events":        {events},
		"audit_entries": {entries, done},
		"refused_calls": {calls},
		"deliveries":    {sent},
		"users":         {licenses, purchases},
	} {
		h.Exec(`ALTER TABLE ` + table + ` RENAME TO kept`)
		for i, list := range lists {
			rows, _, err := list().Next(t.Context())
			if err == nil {
				t.Errorf("without %s, list %d: %d rows", table, i, len(rows))
			}
		}
		h.Exec(`ALTER TABLE kept RENAME TO ` + table)
	}
}
