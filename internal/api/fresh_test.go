package api_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/license"
)

// TestListsAreFresh: a change shows in the very next answer, also in pages that were requested
// before, and not in those of another partner.
func TestListsAreFresh(t *testing.T) {
	h := newHarness(t)
	url := h.serve()
	l := h.buyTier(h.ours, 1, nil)
	h.buyTier(h.other, 1, nil)
	ask := func(key, query string) string {
		t.Helper()
		return h.ask(http.DefaultClient, "GET", url+"/v2/licenses"+query, "", "Authorization: Bearer "+key).Body
	}
	count := func(key, query string) int {
		t.Helper()
		first, again := ask(key, query), ask(key, query)
		if first != again {
			t.Errorf("%s: two answers without a change between them differ", query)
		}
		return strings.Count(first, `"license_key"`)
	}
	steps := []struct {
		name                   string
		do                     func() error
		all, inactive, stopped int
	}{
		{"bought", func() error { return nil }, 1, 1, 0},
		{"held", func() error { _, err := h.API.Licenses.Hold(t.Context(), tester, l.Key, license.HoldOther); return err }, 1, 0, 1},
		{"held again", func() error { _, err := h.API.Licenses.Hold(t.Context(), tester, l.Key, license.HoldOther); return err }, 1, 0, 1},
		{"another bought", func() error { h.buyTier(h.ours, 1, nil); return nil }, 2, 1, 1},
		{"reinstated", func() error { _, err := h.API.Licenses.Reinstate(t.Context(), tester, l.Key); return err }, 2, 2, 0},
	}
	for _, s := range steps {
		h.Must(s.do())
		got := [3]int{count(h.oursKey, ""), count(h.oursKey, "?status=inactive"), count(h.oursKey, "?status=deactivated")}
		if want := [3]int{s.all, s.inactive, s.stopped}; got != want {
			t.Errorf("%s: listed %v, want %v", s.name, got, want)
		}
		if n := count(h.otherKey, ""); n != 1 {
			t.Errorf("%s: the other partner has %d", s.name, n)
		}
	}
}
