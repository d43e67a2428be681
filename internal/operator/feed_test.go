package operator_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"claviger/internal/account"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestFeedMissesNothing follows the feed while several partners sell concurrently: a reader that
// continues from its last id gets every event exactly once.
func TestFeedMissesNothing(t *testing.T) {
	h := newHarness(t)
	const partners, sales = 4, 12
	for i := 1; i < partners; i++ {
		draft := partner.Draft{Name: fmt.Sprintf("Partner %d", i+1)}
		p, _, _, err := h.operator.Profiles.Enrol(t.Context(), tester, draft, profile.URLs{}, false, partner.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.operator.Partners.PutPlan(t.Context(), tester, p.ID, partner.Plan{Tier: 1, Name: "One"}); err != nil {
			t.Fatal(err)
		}
	}
	var selling sync.WaitGroup
	for i := range partners {
		for j := range sales {
			selling.Go(func() {
				body := fmt.Sprintf(`{"partner_id":%d,"tier":1,"quantity":2,"external_id":"order-%d"}`, i+1, j)
				if a := h.send(h.tokens[account.Sell], "POST", purchases, body); a.Status != 201 {
					t.Errorf("a purchase answered %d: %s", a.Status, a.Body)
				}
			})
		}
	}
	var seen []int64
	for len(seen) < partners*sales*2 && !t.Failed() {
		after := int64(0)
		if len(seen) > 0 {
			after = seen[len(seen)-1]
		}
		seen = append(seen, h.feed(after)...)
	}
	selling.Wait()
	if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Errorf("the ids do not rise strictly: %d", seen)
	}
	if all := h.feedWhole(); !slices.Equal(all, seen) {
		t.Errorf("read meanwhile: %d events, read afterwards: %d", len(seen), len(all))
	}
}

// feed reads one page of the feed.
func (h *harness) feed(after int64) []int64 {
	h.Helper()
	var list struct {
		Items []struct {
			ID int64 `json:"event_id"`
		} `json:"items"`
	}
	h.send(h.tokens[account.Read], "GET", fmt.Sprintf("/operator/v1/events?after=%d&limit=7", after), "").Into(h, &list)
	ids := make([]int64, len(list.Items))
	for i, e := range list.Items {
		ids[i] = e.ID
	}
	return ids
}

// feedWhole reads the feed from its beginning to its end.
func (h *harness) feedWhole() []int64 {
	h.Helper()
	var all []int64
	for after := int64(0); ; after = all[len(all)-1] {
		news := h.feed(after)
		if len(news) == 0 {
			return all
		}
		all = append(all, news...)
	}
}
