package license_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestExplainNamesDisputes: each cause of a hold is named, whichever came first, and a dispute with
// the provider's id.
func TestExplainNamesDisputes(t *testing.T) {
	const (
		byHand   = "The marketplace has put it on hold and lifts the hold."
		disputed = "It is on hold because the payment is disputed (%s); the hold ends when the dispute is won."
	)
	h := newHarness(t)
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]
	act := func(do func(s *license.Store, l license.License) error) {
		t.Helper()
		now := h.license(l.Key)
		err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error { return do(h.licenses.Within(tx), now) })
		if err != nil {
			t.Fatal(err)
		}
	}
	dispute := func(id string) {
		t.Helper()
		act(func(s *license.Store, l license.License) error {
			return s.HoldFor(t.Context(), tester, l, license.ByDispute(id))
		})
	}
	want := func(when string, want ...string) {
		t.Helper()
		got, err := h.licenses.Explain(t.Context(), h.license(l.Key))
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, "hold") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	if _, err := h.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther); err != nil {
		t.Fatal(err)
	}
	want("held by hand", byHand)
	dispute("dp_1")
	want("disputed, too", byHand, fmt.Sprintf(disputed, "dp_1"))
	dispute("dp_2")
	want("disputed twice", byHand, fmt.Sprintf(disputed, "dp_1"), fmt.Sprintf(disputed, "dp_2"))
	if _, err := h.licenses.Reinstate(t.Context(), tester, l.Key); err != nil {
		t.Fatal(err)
	}
	want("no longer held by hand", fmt.Sprintf(disputed, "dp_1"), fmt.Sprintf(disputed, "dp_2"))
	act(func(s *license.Store, l license.License) error {
		return s.LiftFor(t.Context(), tester, l, license.ByDispute("dp_1"))
	})
	want("one is won", fmt.Sprintf(disputed, "dp_2"))
}
