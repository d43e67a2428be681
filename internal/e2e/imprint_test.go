package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/devserver"
)

// TestImprintPages checks pages of a marketplace with its own colour and contacts.
func TestImprintPages(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, func(c *devserver.Config) {
		c.App.LegalName, c.App.Accent = "Acme Software GmbH", "#1b4173"
		c.App.SupportURL, c.App.TermsURL, c.App.PrivacyURL = "mailto:help@example.com", "https://example.com/terms", "https://example.com/privacy"
	})
	b.visit("/products/1")
	b.on("Sample App")
	if text := b.Text("main"); !strings.Contains(text, "Sold by Acme Software GmbH") || !strings.Contains(text, "The terms of Acme Software GmbH apply") {
		t.Errorf("the product says %s", text)
	}
	b.Look("imprint-product")
	b.Expect("status of 404")
	b.visit("/nowhere")
	b.on("Page not found")
	b.Look("imprint-not-found")
	b.signInAs(b.card.Member.Email, b.card.Member.Password)
	b.visit("/nowhere")
	if text := b.Text(".menu"); !strings.Contains(text, "Partner portal") {
		t.Errorf("the menu of a page that does not exist is %s", text)
	}
}
