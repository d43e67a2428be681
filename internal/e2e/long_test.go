package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestJourneyOfLongNames walks through the pages with foreign names, each one a single long word:
// nothing scrolls sideways, on phone or desktop.
func TestJourneyOfLongNames(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	market := caller{base: b.card.BaseURL, token: b.card.OperatorToken}
	partner := fmt.Sprintf("/operator/v1/partners/%d", b.card.Partner.ID)
	name := "Donaudampfschifffahrtsgesellschaftskapitaenskajuetenschluesselverwaltungsprogramme" // 82 letters
	market.must(t, 200, "PATCH", partner, object{"name": name})
	market.must(t, 200, "PUT", partner+"/plans/1", object{"name": strings.Repeat("Plan", 25), "price_cents": 123456789, "currency": "USD"})

	email := strings.Repeat("a", 60) + "@" + strings.Repeat("subdomain", 6) + "." + strings.Repeat("domain", 10) + ".example"
	b.visit("/sign-up")
	b.Type("#email", email)
	b.Type("#password", "correct horse battery")
	b.Press("main form button")
	b.on("Check your email")
	b.Look("50-long-check-mail")
	b.Open(b.linkInMail("50-long"))
	b.Look("50-long-link")
	b.Press("main form button")
	b.on("My licenses")

	_, redeem := b.sold(email, "o-1")
	b.sold(email, "o-2")
	for _, page := range []struct{ name, path string }{
		{"home", "/"}, {"product", fmt.Sprintf("/products/%d", b.card.Partner.ID)}, {"licenses", "/licenses"}, {"account", "/account"}, {"delete", "/account/delete"},
	} {
		b.visit(page.path)
		b.Look("51-long-" + page.name)
	}
	b.visit("/licenses")
	b.Press("main h2 a")
	b.on(name)
	b.Look("52-long-license")
	b.Press("main a[href$='/change_plan/']")
	b.on("Change plan")
	b.Look("53-long-change-plan")
	b.Open(b.card.BaseURL + "/dev/partner/login")
	b.on("Connect " + name)
	b.Look("54-long-chooser")
	b.Open(redeem)
	b.on(name)
	b.Look("55-long-redeem")
}
