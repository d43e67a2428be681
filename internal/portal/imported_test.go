package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
)

// TestImportedLicense: the page of an imported license mentions no activation.
func TestImportedLicense(t *testing.T) {
	h := start(t)
	const key = "3f2c1b4e-8a6d-4c7f-9b0e-000000000001"
	_, err := h.Licenses.Import(t.Context(), apptest.Tester, []license.Import{{
		Key: key, PartnerID: h.tide.ID, Tier: 1, Status: event.Active, Email: "eve@example.com", SoldAt: time.Date(2024, 5, 31, 9, 30, 0, 0, time.UTC),
	}}, license.ImportOptions{})
	h.Must(err)
	text := h.as(viewer).Get(h.path("/licenses/"+key)).Want(http.StatusOK, "License Active").Text()
	for _, part := range []string{"Imported as active. The marketplace brought the license in from elsewhere.", "It was imported as active, is paid for, and nothing holds it.", "It was imported without a webhook.", "Sold elsewhere 31 May 2024", "Imported ", "Its tier is 1, as it was imported."} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
	for _, part := range []string{"activated", "Not sent yet", "Delivery of event", "Purchased", "purchased"} {
		if strings.Contains(text, part) {
			t.Errorf("it speaks of what never was, %q:\n%s", part, text)
		}
	}
}
