package console_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/paging"
)

// TestPartnerProduct: an admin changes the product texts of an application, and the audit names the
// person.
func TestPartnerProduct(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/product", h.tide.ID)
	page := b.Get(at).Want(http.StatusOK, "Product of "+h.tide.Name)
	if done := b.Follow(b.Press(page, "Save", "tagline", "Tides for sailors", "support_email", "help@tide.example")); !strings.Contains(done.Text(), "Saved.") {
		t.Errorf("the page says %s", done.Text())
	}
	if late := b.Press(page, "Save", "tagline", "Mine"); late.Status != http.StatusConflict {
		t.Errorf("on an old page: %d", late.Status)
	}
	var icon bytes.Buffer
	h.Must(png.Encode(&icon, image.NewNRGBA(image.Rect(0, 0, 32, 32))))
	b.Follow(b.Upload(at+"/icon", "icon", icon.Bytes())).Want(http.StatusOK, "Product of "+h.tide.Name)
	if page := b.Upload(at+"/icon", "icon", []byte("<svg/>")); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "SVG is not accepted.") {
		t.Errorf("an SVG: %d\n%s", page.Status, page.Text())
	}
	got, err := h.Partners.Product(h.Context(), h.tide.ID)
	h.Must(err)
	if got.Tagline != "Tides for sailors" || got.SupportEmail != "help@tide.example" || got.Icon == "" {
		t.Errorf("stored is %+v", got)
	}
	entries, _, err := h.Audit.List(h.Context(), audit.Filter{Action: "partner.product"}, paging.First())
	h.Must(err)
	if len(entries) != 2 || entries[0].Actor.Kind != audit.ByUser || entries[0].Actor.Session == "" {
		t.Errorf("the audit has %+v", entries)
	}
	if page := h.as(viewer).Get(at); page.Status != http.StatusOK || page.Input("tagline") != nil || !strings.Contains(page.Text(), "Tides for sailors") {
		t.Errorf("a viewer sees %d %s", page.Status, page.Text())
	}
}

// TestPlanTexts: the form of a plan has the texts for buyers; an older form without them leaves
// them unchanged.
func TestPlanTexts(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/plans/1", h.tide.ID)
	page := b.Get(at)
	b.Follow(b.Press(page, "Save", "description", "For one.", "features", "One seat\r\nAll tides", "recommended", "yes"))
	plan, err := h.Partners.Plan(h.Context(), h.tide.ID, 1)
	h.Must(err)
	if plan.Description != "For one." || strings.Join(plan.Features, "|") != "One seat|All tides" || !plan.Recommended {
		t.Errorf("stored is %+v", plan)
	}
	old := b.Post(at, "seen", hidden(b.Get(at), "seen"), "name", "Solo", "price", "1.00", "currency", "USD")
	if old.Status != http.StatusSeeOther {
		t.Errorf("a form without texts: %d\n%s", old.Status, old.Text())
	}
	if plan, err = h.Partners.Plan(h.Context(), h.tide.ID, 1); err != nil || plan.Name != "Solo" || len(plan.Features) != 2 || !plan.Recommended {
		t.Errorf("after it: %+v, %v", plan, err)
	}
	if page := b.Press(b.Get(at), "Save", "sort", "x"); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "Place must be a whole number") {
		t.Errorf("a place that is none: %d\n%s", page.Status, page.Text())
	}
}
