package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

// links returns the URLs that a page links to.
func links(page *pagetest.Page) string {
	var list []string
	for _, a := range page.All(atom.A) {
		list = append(list, pagetest.Attr(a, "href"))
	}
	return strings.Join(list, "\n")
}

// TestNumbers shows the sales of all partners and of one, and follows the links to the lists.
func TestNumbers(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Reef Maps", profile.URLs{})
	h.Plans(other.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	h.Buy(license.Purchase{PartnerID: other.ID, Tier: 1, Quantity: 4})
	first := h.sold()
	h.sold()
	_, err := h.Licenses.Activate(t.Context(), apptest.Tester, first.Licenses[0].Key, nil)
	h.Must(err)
	_, err = h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: first.Licenses[0].Key})
	h.Must(err)

	page := h.as(viewer).Get(path("/numbers"))
	wants(t, page, http.StatusOK, "Sold 6 in 30 days", "Activated within 7 days 16.6 %", "Refund rate 16.6 %",
		"Reef Maps 4 0 0 % 0 0 %", "Tide Planner 2 1 50 % 1 50 %", "/operator/v1/stats/sales?days=30")
	if text := page.Text(); strings.Index(text, "Reef Maps 4 0") > strings.Index(text, "Tide Planner 2 1") {
		t.Error("the partner that sold most is not the first")
	}
	to := links(page)
	for _, want := range []string{
		fmt.Sprintf("/console/numbers?days=30&partner_id=%d", other.ID), "/console/licenses?from=", "/console/purchases?from=", "license_status=deactivated", "/console/numbers?days=365",
	} {
		if !strings.Contains(to, want) {
			t.Errorf("nothing leads to %s", want)
		}
	}
	for _, a := range page.All(atom.A) { // each link into a list finds the rows that were counted
		if to := pagetest.Attr(a, "href"); strings.HasPrefix(to, "/console/licenses?") && strings.Contains(to, fmt.Sprintf("partner_id=%d", other.ID)) {
			wants(t, h.as(viewer).Get(to), http.StatusOK, "Reef Maps")
			wantsNone(t, h.as(viewer).Get(to), "Tide Planner Inactive", "Nothing matches")
		}
	}

	one := h.as(viewer).Get(path("/numbers?days=7&partner_id=%d", h.tide.ID))
	wants(t, one, http.StatusOK, "of Tide Planner", "Sold 2 in 7 days", "Refund rate 50 %", fmt.Sprintf("/operator/v1/stats/sales?days=7&partner_id=%d", h.tide.ID))
	wantsNone(t, one, "Reef Maps", "By partner:")
	if _, form, _ := strings.Cut(one.Body, `role="search" aria-label="Choose`); !strings.Contains(form[:min(200, len(form))], `name="days" value="7"`) {
		t.Error("the filter does not keep the time")
	}
}

// TestNumbersRefuse: an invalid partner id is reported at its field; an odd span or page falls back
// to the default.
func TestNumbersRefuse(t *testing.T) {
	h := start(t)
	for _, query := range []string{"?partner_id=" + none, "?partner_id=x", "?partner_id=-1"} {
		wants(t, h.as(viewer).Get(path("/numbers%s", query)), http.StatusBadRequest, "There is a problem")
	}
	for _, query := range []string{"?days=0", "?days=9999", "?days=x", "?page=99", "?page=-3"} {
		wants(t, h.as(viewer).Get(path("/numbers%s", query)), http.StatusOK, "in 30 days", "Nothing was sold in this time")
	}
}
