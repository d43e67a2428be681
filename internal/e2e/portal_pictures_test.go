package e2e_test

import (
	"os"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestPicturesOfThePortal takes the pictures of docs/portal.md.
func TestPicturesOfThePortal(t *testing.T) {
	dir := os.Getenv(pictures)
	if dir == "" {
		t.Skip("make pictures takes them")
	}
	b := newMember(t)
	for _, page := range []struct{ name, path string }{
		{"portal-setup", "/setup"},
		{"portal-overview", "/overview"},
		{"portal-deliveries", "/deliveries"},
		{"portal-simulator", "/simulator"},
		{"portal-credentials", "/credentials"},
	} {
		b.visit(b.path(page.path))
		b.Await("main h1")
		browser.Eval[bool](b.Tab, steady)
		b.Picture(dir, page.name)
	}
}
