package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestDocs checks the documentation, and opens the reference in a browser that reports violations
// of the page's policy.
func TestDocs(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	b.visit("/docs/")
	b.on("Documentation")
	b.look("docs-home")
	b.visit("/docs/portal") // a short guide with every element of guides
	b.look("docs-portal")
	b.Type("#side-search", "verify signature")
	b.Enter()
	b.Await("main mark")
	b.look("docs-search")

	b.visit("/docs/api")
	const place = "operator-api/tag/sales/POST/operator/v1/purchases"
	b.Click("#operator-api-createPurchase a[href^='/docs/reference']")
	b.Await("[id='" + place + "']")
	if text := browser.Eval[string](b.Tab, "document.body.innerText"); !strings.Contains(text, "Operator API") || !strings.Contains(text, "/operator/v1/purchases") {
		t.Errorf("the reference shows %.500s", text)
	}
	// Our colours have enough contrast, unlike Scalar's, and its banner is the only one.
	if color := browser.Eval[string](b.Tab, `getComputedStyle(document.querySelector("[id='`+place+`']")).getPropertyValue("--scalar-color-2").trim()`); color != "#505050" {
		t.Errorf("the texts of the reference are %s", color)
	}
	if banners := browser.Eval[int](b.Tab, `document.querySelectorAll("body > header").length`); banners != 0 {
		t.Errorf("the frame of the reference has %d banners", banners)
	}
	browser.Eval[bool](b.Tab, `[...document.querySelectorAll("[id='`+place+`'] button")].find((e) => e.innerText.includes("Test Request")).click() === undefined`)
	b.Await(".scalar-client--open") // where it is tried out
	if others := browser.Eval[[]string](b.Tab, `performance.getEntriesByType('resource').map((e) => e.name).filter((u) => !u.startsWith(location.origin))`); len(others) > 0 {
		t.Errorf("the reference asks other hosts: %q", others)
	}
	b.visit("/docs/reference")
	b.Await("[id*='tag/licenses']")
}
