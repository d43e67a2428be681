package portal_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor/pagetest"
)

// picture returns a square PNG with sides of that many pixels.
func picture(t *testing.T, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestProduct: an admin changes the product texts, others see them, and a stale form changes
// nothing.
func TestProduct(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	page := boss.Get(h.path("/product")).Want(http.StatusOK, "Product")
	saved := boss.Follow(boss.Press(page, "Save", "tagline", "Tides for sailors", "website", "https://tide.example", "description", "All **tides**."))
	if !strings.Contains(saved.Text(), "Saved. Buyers see it from now on.") {
		t.Errorf("the page says %s", saved.Text())
	}
	late := boss.Press(page, "Save", "tagline", "Mine")
	if late.Status != http.StatusConflict || !strings.Contains(late.Text(), "Tagline was empty and is now “Tides for sailors”.") || pagetest.Attr(late.Input("tagline"), "value") != "Mine" {
		t.Errorf("on an old page: %d\n%s", late.Status, late.Text())
	}
	wrong := boss.Press(saved, "Save", "website", "javascript:alert(1)")
	if wrong.Status != http.StatusUnprocessableEntity || !strings.Contains(wrong.Text(), "Website must begin with") {
		t.Errorf("a website that is none: %d\n%s", wrong.Status, wrong.Text())
	}
	got, err := h.Partners.Product(t.Context(), h.tide.ID)
	h.Must(err)
	if got.Tagline != "Tides for sailors" || got.Website != "https://tide.example" || got.Description != "All **tides**." {
		t.Errorf("stored is %+v", got)
	}
	other := h.as(developer).Get(h.path("/product")).Want(http.StatusOK, "Product")
	if other.Input("tagline") != nil || other.Input("icon") != nil || !strings.Contains(other.Text(), "Tides for sailors") {
		t.Errorf("a developer sees %s", other.Text())
	}
	if page := boss.Get(h.path("/audit")); !strings.Contains(page.Text(), "Changed what buyers read about this application.") {
		t.Errorf("the audit says %s", page.Text())
	}
}

// TestProductIcon: pictures are accepted, other files are not, and the icon can be removed.
func TestProductIcon(t *testing.T) {
	h := start(t)
	boss, at := h.as(admin), h.path("/product/icon")
	for name, tt := range map[string]struct {
		file   []byte
		status int
		why    string
	}{
		"a page":                   {[]byte("<html><script>alert(1)</script>"), http.StatusUnprocessableEntity, "Icon is not a picture that we can read"},
		"no file":                  {nil, http.StatusUnprocessableEntity, "Icon is missing"},
		"too many pixels":          {picture(t, 1025), http.StatusUnprocessableEntity, "1025 × 1025 pixels"},
		"too many bytes":           {make([]byte, partner.MaxIconBytes+1), http.StatusUnprocessableEntity, "at most 512 KiB"},
		"more bytes than are read": {make([]byte, ui.MaxUpload+1), http.StatusRequestEntityTooLarge, "The file is too large."},
	} {
		if page := boss.Upload(at, "icon", tt.file); page.Status != tt.status || !strings.Contains(page.Text(), tt.why) {
			t.Errorf("%s: %d\n%s", name, page.Status, page.Text())
		}
	}
	sent := boss.Follow(boss.Upload(at, "icon", picture(t, 64))).Want(http.StatusOK, "Product")
	got, err := h.Partners.Product(t.Context(), h.tide.ID)
	h.Must(err)
	if got.Icon == "" || !strings.Contains(sent.Body, got.IconPath()) {
		t.Errorf("stored is %+v", got)
	}
	if page := h.as(developer).Upload(at, "icon", picture(t, 32)); page.Status != http.StatusNotFound {
		t.Errorf("a developer sends an icon: %d", page.Status)
	}
	boss.Follow(boss.Press(sent, "Remove the icon")).Want(http.StatusOK, "Product")
	if got, err = h.Partners.Product(t.Context(), h.tide.ID); err != nil || got.Icon != "" {
		t.Errorf("after it was removed: %+v, %v", got, err)
	}
}

// TestProductIconWaits: an upload that finds no slot in time is asked to retry.
func TestProductIconWaits(t *testing.T) {
	h := start(t)
	slots := h.Partners.Pictures
	slots.Patience = time.Nanosecond
	key := strconv.FormatInt(h.tide.ID, 10)
	h.Must(slots.Acquire(t.Context(), key, 1))
	boss, at := h.as(admin), h.path("/product/icon")
	page := boss.Upload(at, "icon", picture(t, 64))
	if page.Status != http.StatusServiceUnavailable || !strings.Contains(page.Text(), "Send it again in a few seconds.") {
		t.Errorf("while another one is read: %d\n%s", page.Status, page.Text())
	}
	slots.Release(key, 1)
	boss.Follow(boss.Upload(at, "icon", picture(t, 64))).Want(http.StatusOK, "Product")
}

// TestPlanTexts: an admin changes the texts of a plan, but not its price.
func TestPlanTexts(t *testing.T) {
	h := start(t)
	_, _, err := h.Partners.PutPlan(t.Context(), apptest.Tester, h.tide.ID, partner.Plan{Tier: 1, Name: "Solo", PriceCents: 900, Currency: "USD"})
	h.Must(err)
	boss, at := h.as(admin), h.path("/product/plans/1")
	ask := boss.Get(at).Want(http.StatusOK, "What buyers read about “Solo”")
	if page := boss.Press(ask, "Save", "sort", "first"); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "Place must be a whole number") {
		t.Errorf("a place that is none: %d\n%s", page.Status, page.Text())
	}
	boss.Follow(boss.Press(ask, "Save", "features", " One seat \r\n\r\nAll tides\r\n", "recommended", "yes", "sort", "3")).Want(http.StatusOK, "Product")
	plan, err := h.Partners.Plan(t.Context(), h.tide.ID, 1)
	h.Must(err)
	if strings.Join(plan.Features, "|") != "One seat|All tides" || !plan.Recommended || plan.Sort != 3 || plan.PriceCents != 900 || plan.Name != "Solo" {
		t.Errorf("stored is %+v", plan)
	}
	h.limits(boss, at)
	if late := boss.Press(ask, "Save", "features", "Mine"); late.Status != http.StatusConflict {
		t.Errorf("on an old page: %d", late.Status)
	}
}

// limits checks that each limit per buyer is saved and shown as typed. Empty means not set, which
// differs from 0.
func (h *harness) limits(boss *pagetest.Browser, at string) {
	h.Helper()
	for typed, want := range map[string]partner.BuyerLimit{"0": partner.BuyerLimitOf(0), "12": partner.BuyerLimitOf(12), "": {}} {
		boss.Follow(boss.Press(boss.Get(at), "Save", "max_per_buyer", typed)).Want(http.StatusOK, "Product")
		plan, err := h.Partners.Plan(h.Context(), h.tide.ID, 1)
		h.Must(err)
		if plan.MaxPerBuyer != want || plan.Sort != 3 {
			h.Errorf("typed %q, stored %+v", typed, plan)
		}
		boss.Follow(boss.Press(boss.Get(at), "Save")) // keeps the shown values
		if plan, err = h.Partners.Plan(h.Context(), h.tide.ID, 1); err != nil || plan.MaxPerBuyer != want {
			h.Errorf("typed %q, saved again: %+v, %v", typed, plan, err)
		}
	}
	for _, bad := range []string{"-1", "1001", "many"} {
		if page := boss.Press(boss.Get(at), "Save", "max_per_buyer", bad); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "Licenses per buyer must be") {
			h.Errorf("the limit %q: %d\n%s", bad, page.Status, page.Text())
		}
	}
}
