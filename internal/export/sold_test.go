package export_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestSoldAt: only an imported purchase has its time of sale.
func TestSoldAt(t *testing.T) {
	h := &harness{clock: apptest.StoppedClock(noon)}
	h.Harness = apptest.New(t, h.clock.Set)
	p, _ := h.Partner("Ours", profile.URLs{})
	h.Plans(p.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1})
	_, err := h.Licenses.Import(t.Context(), apptest.Tester, []license.Import{{
		Key: "3f2c1b4e-8a6d-4c7f-9b0e-000000000001", PartnerID: p.ID, Tier: 1, Status: event.Inactive, SoldAt: time.Date(2024, 5, 31, 9, 30, 0, 0, time.UTC),
	}}, license.ImportOptions{})
	h.Must(err)
	rows, _ := h.rows(h.Exports.OperatorPurchases(license.FindSales{}))
	if len(rows) != 2 || rows[0]["sold_at"] != "2024-05-31T09:30:00.000000Z" || rows[1]["sold_at"] != nil {
		t.Errorf("NDJSON has %v", rows)
	}
	var file bytes.Buffer
	h.Must(h.Exports.Run(t.Context(), &file, export.Job{Table: h.Exports.OperatorPurchases(license.FindSales{}), Format: export.CSV, By: person, Check: anybody}))
	lines := strings.Split(file.String(), "\n")
	for i, end := range []string{",created_at,sold_at", ",2024-05-31T09:30:00.000000Z", ","} {
		if !strings.HasSuffix(strings.TrimSuffix(lines[i], "\r"), end) {
			t.Errorf("line %d of CSV is %q, want it to end in %q", i+1, lines[i], end)
		}
	}
}
