package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

// TestLicensesOfOnePlanAreToldApart: by the end of the key, which says no more of
// it than is needed.
func TestLicensesOfOnePlanAreToldApart(t *testing.T) {
	h, b, l := annAndLicense(t)
	second := h.sell(ann, 1)
	chooser := b.get(authorize(h.request())).want(http.StatusOK, "Connect Tide Planner?")
	for _, page := range []*sheet{chooser, b.get("/licenses")} {
		for _, key := range []string{l.Key, second.Key} {
			if !strings.Contains(page.text(), "key ends in "+key[len(key)-6:]) || strings.Contains(page.Body, key[len(key)-7:]) {
				t.Errorf("%s does not tell %s by its end: %s", page.title(), key, page.text())
			}
		}
	}
	first, last := words(chooser.all(atom.Label)[0]), words(chooser.all(atom.Label)[1])
	if first == last {
		t.Errorf("the choices are both %q", first)
	}
}
