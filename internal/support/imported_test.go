package support_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
)

// TestCaseOfImported: an imported license shows no activation that never happened here; a later one
// by the marketplace is shown as such.
func TestCaseOfImported(t *testing.T) {
	m := newMarket(t)
	const key = "3f2c1b4e-8a6d-4c7f-9b0e-000000000001"
	_, err := m.Licenses.Import(t.Context(), apptest.Tester, []license.Import{{
		Key: key, PartnerID: m.tide.ID, Tier: 2, Status: event.Active, Email: "eve@example.com", SoldAt: time.Date(2024, 5, 31, 9, 30, 0, 0, time.UTC),
	}}, license.ImportOptions{})
	m.Must(err)
	told := func() (list []string) {
		c, err := m.Support.Case(t.Context(), key)
		m.Must(err)
		for _, e := range slices.Backward(c.Entries) {
			if e.Kind == "event" || e.Kind == "purchase" {
				list = append(list, strings.TrimSpace(e.Title+". "+e.Text))
			}
		}
		return list
	}
	want := []string{
		"The license was bought elsewhere and imported, tier 2 (purchase 2). No amount was recorded. Sold: 31 May 2024, 09:30:00 UTC.",
		"The license was imported as active, tier 2 (event 2, activate). The marketplace brought the license in from elsewhere.",
	}
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Error(diff)
	}
	_, err = m.Licenses.Release(t.Context(), apptest.Tester, key)
	m.Must(err)
	_, err = m.Licenses.Activate(t.Context(), apptest.Tester, key, nil)
	m.Must(err)
	want = append(want,
		"The license became deactivated, tier 2 (event 3, deactivate). The buyer disconnected the license from the account it was used with.",
		"The license became active, tier 2 (event 4, activate). The marketplace activated the license for the buyer.")
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Error(diff)
	}
}
