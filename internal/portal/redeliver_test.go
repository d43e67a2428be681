package portal_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestRedeliverSays: a refusal names the field as the page does, and the page that asks whether to
// cancel a redelivery has no second button that says Cancel.
func TestRedeliverSays(t *testing.T) {
	h := start(t)
	h.sell(h.tide)
	page := h.as(developer).Get(h.path("/recover?rate=x"))
	if page.Status != http.StatusBadRequest || !strings.Contains(page.Text(), "Events a second must be a whole number from 1 to 1000.") {
		t.Errorf("%d\n%s", page.Status, page.Text())
	}
	page = h.as(developer).Post(h.path("/recover"), "rate", "x")
	if page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "Events a second must be a whole number from 1 to 1000.") {
		t.Errorf("%d\n%s", page.Status, page.Text())
	}
	page = h.as(developer).Post(h.path("/recover?range=span&from=yesterday"), "rate", "5")
	if page.Status != http.StatusBadRequest || strings.Contains(page.Text(), "Events a second must") || !strings.Contains(page.Text(), "From must be a time") {
		t.Errorf("a time that is none: %d\n%s", page.Status, page.Text())
	}
	page = h.as(developer).Get(h.path("/recover/%s/cancel", jobOf(h, h.tide)))
	wantsIn(h, page, "Cancel the recovery", "Go back")
	page = h.as(developer).Post(h.path("/recover"), "rate", "1")
	if page.Status != http.StatusConflict || !strings.Contains(page.Text(), "Recovery 1 is paused. Resume or cancel it") || strings.Contains(page.Text(), "Redelivery 1") {
		t.Errorf("%d\n%s", page.Status, page.Text())
	}
	wantsIn(h, h.as(viewer).Get(h.path("/deliveries?state=failed")), "Failed: failing, exhausted or superseded")
}
