package license_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
)

var soldAt = time.Date(2024, 5, 31, 9, 30, 0, 0, time.UTC)

func existing(partnerID int64, n int, status event.Status, email string) license.Import {
	return license.Import{Key: fmt.Sprintf("3f2c1b4e-8a6d-4c7f-9b0e-%012x", n), PartnerID: partnerID, Tier: 2, Status: status, Email: email, SoldAt: soldAt}
}

// imports imports licenses and returns the result of each: new, unchanged, or the code of its
// refusal.
func (h *harness) imports(o license.ImportOptions, list ...license.Import) (got []string) {
	h.Helper()
	results, err := h.licenses.Import(h.Context(), tester, list, o)
	if err != nil {
		h.Fatal(err)
	}
	for _, r := range results {
		switch f := fault.Of(r.Err); {
		case f != nil:
			got = append(got, f.Code+" "+f.Field)
		case r.New:
			got = append(got, "new")
		default:
			got = append(got, "unchanged")
		}
	}
	return got
}

func (h *harness) expect(got []string, want ...string) {
	h.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("(-want +got)\n%s", diff)
	}
}

// rows counts the rows of a table.
func (h *harness) rows(table string) int64 {
	h.Helper()
	return h.count(`SELECT count(*) FROM ` + table)
}

func TestImport(t *testing.T) {
	h := newHarness(t)
	a, b := h.partner(), h.partner()
	list := []license.Import{
		existing(a, 1, event.Inactive, ""), existing(b, 2, event.Active, "Ada@example.com"), existing(a, 3, event.Deactivated, "ada@example.com"),
		existing(a, 4, event.Active, ""), existing(999, 5, event.Inactive, ""), existing(a, 1, event.Inactive, ""), existing(a, 3, event.Inactive, ""),
		existing(a, 6, event.Inactive, "not an address"),
	}
	list[7].Tier = 1
	first := []string{"new", "new", "new", "invalid_field email", "unknown_partner partner_id", "unchanged", "license_exists license_key", "invalid_field email"}
	dry := license.ImportOptions{DryRun: true, Earlier: map[string]license.Import{}}
	h.expect(h.imports(dry, list...), first...)
	h.expect(h.imports(dry, existing(a, 1, event.Inactive, ""), existing(a, 3, event.Active, "ada@example.com")), "unchanged", "license_exists license_key")
	if n := h.rows("licenses") + h.rows("events") + h.rows("purchases") + h.rows("users"); n != 0 {
		t.Errorf("a dry run has left %d rows", n)
	}
	h.expect(h.imports(license.ImportOptions{}, list...), first...)
	if n := h.rows("deliveries"); n != 0 {
		t.Errorf("%d webhooks wait, want none", n)
	}
	// Later changes of a license do not make the line another one.
	if _, err := h.licenses.Reinstate(t.Context(), tester, list[2].Key); err != nil {
		t.Fatal(err)
	}
	first[0], first[1], first[2] = "unchanged", "unchanged", "unchanged"
	h.expect(h.imports(license.ImportOptions{Webhooks: true}, list...), first...)
	got, err := h.licenses.ByKey(t.Context(), list[1].Key)
	if err != nil || got.Status != event.Active || !got.Redeemed || got.OwnerID == 0 || !got.CreatedAt.After(soldAt.AddDate(1, 0, 0)) {
		t.Errorf("got %+v, %v", got, err)
	}
	h.expect(h.imports(license.ImportOptions{Webhooks: true}, existing(b, 7, event.Inactive, "")), "new")
	if n := h.count(`SELECT count(*) FROM deliveries AS d JOIN events AS e ON e.id = d.event_id WHERE e.reason = 'operator'`); n != 1 {
		t.Errorf("%d webhooks wait, want one", n)
	}
	h.verify()
}

// TestImportedAs: each license belongs to the person of its line. Only the operator makes a
// deactivated one work again, and the audit says what was brought in.
func TestImportedAs(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	p := h.partner()
	list := []license.Import{
		existing(p, 1, event.Deactivated, "ann@example.com"), existing(p, 2, event.Inactive, ""),
		existing(p, 3, event.Active, "bob@example.com"), existing(p, 4, event.Inactive, "ann@example.com"),
	}
	h.expect(h.imports(license.ImportOptions{}, list...), "new", "new", "new", "new")
	ann, bob := h.user("ann").ID, h.user("bob").ID
	for i, owner := range []int64{ann, 0, bob, ann} {
		if l := h.license(list[i].Key); l.OwnerID != owner || l.Redeemed != (i == 2) || l.Held != 0 != (i == 0) {
			t.Errorf("license %d: %+v", i, l)
		}
	}
	if n := h.count(`SELECT count(*) FROM purchases WHERE quantity <> 1 OR amount_cents <> 0`); n != 0 {
		t.Errorf("%d of the purchases are not of one license without a price", n)
	}
	if n := h.rows("license_holds"); n != 1 {
		t.Errorf("%d holds", n)
	}
	held := h.license(list[0].Key)
	if _, err := h.licenses.Redeem(ctx, tester, held.RedemptionID, ann); code(err) != license.CodeLicenseHeld {
		t.Errorf("redeemed: %v", err)
	}
	dispute := license.ByDispute("dp_1")
	err := h.licenses.HoldFor(ctx, tester, held, dispute)
	if err = errors.Join(err, h.licenses.LiftFor(ctx, tester, held, dispute)); err != nil {
		t.Fatal(err)
	}
	if l := h.license(held.Key); l.Held != license.HoldOther {
		t.Errorf("the end of a dispute lifted the hold: %+v", l)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries
		WHERE action = 'license.import' AND subject = $1 AND after LIKE $2 AND after LIKE '%"licenses":4%'
		AND after LIKE '%"inactive":2%' AND after LIKE '%"active":1%' AND after LIKE '%"deactivated":1%'`,
		fmt.Sprint("partner:", p), "%"+list[0].Key+"%"+list[3].Key+"%"); n != 1 {
		t.Errorf("%d audit entries", n)
	}
	h.verify()
}

// BenchmarkImport brings licenses in, each of its own buyer, in blocks of a thousand.
func BenchmarkImport(b *testing.B) {
	h := newHarness(b)
	id := h.partner()
	n := 0
	for b.Loop() {
		list := make([]license.Import, 1000)
		for i := range list {
			n++
			list[i] = existing(id, n, event.Active, fmt.Sprintf("buyer%d@example.com", n))
		}
		if _, err := h.licenses.Import(b.Context(), tester, list, license.ImportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "licenses/s")
}

// TestExplainImported checks that the explanation of an imported license does not claim a purchase
// here, nor an activation by its buyer until there is one.
func TestExplainImported(t *testing.T) {
	for name, c := range map[string]struct {
		status event.Status
		then   []string
		want   string
	}{
		"active":                     {event.Active, nil, "It was imported as active, is paid for, and nothing holds it."},
		"active, held and lifted":    {event.Active, []string{"hold", "reinstate"}, "It was imported as active, is paid for, and nothing holds it."},
		"active, and redeemed again": {event.Active, []string{"release", "redeem ann"}, "It is paid for, the buyer has activated it, and nothing holds it."},
		"inactive":                   {event.Inactive, nil, "It was imported and is paid for, and the buyer has not activated it yet."},
		"inactive, then redeemed":    {event.Inactive, []string{"redeem ann"}, "It is paid for, the buyer has activated it, and nothing holds it."},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			line := existing(h.partner(), 1, c.status, person("ann").Email)
			h.expect(h.imports(license.ImportOptions{}, line), "new")
			s := &script{harness: h, l: h.license(line.Key)}
			for _, command := range c.then {
				if code := s.run(command); code != "" {
					t.Fatal(command, code)
				}
			}
			got, err := h.licenses.Explain(t.Context(), h.license(line.Key))
			if err != nil || len(got) < 3 || got[1] != c.want || got[len(got)-1] != "Its tier is 2, as it was imported." {
				t.Errorf("it says %q, %v; want %q, and its tier as it was imported", got, err, c.want)
			}
			sold, err := h.licenses.SoldElsewhere(t.Context(), h.license(line.Key))
			if err != nil || !sold.Equal(line.SoldAt) {
				t.Errorf("sold at %s, %v; want %s", sold, err, line.SoldAt)
			}
		})
	}
}
