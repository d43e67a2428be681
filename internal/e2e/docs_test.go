package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestDocs looks at the documentation, and reads the reference in a browser that reports
// whatever the page's policy forbids.
func TestDocs(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	b.visit("/docs/")
	b.on("Documentation")
	b.look("docs-home")
	for _, name := range []string{"portal", "security"} { // which have all that others have, and are short
		b.visit("/docs/" + name)
		b.look("docs-" + name)
	}
	b.Type("#side-search", "verify signature\r")
	b.Await("main mark")
	b.look("docs-search")

	b.visit("/docs/reference")
	b.Await("[id*='tag/licenses']")
	if text := browser.Eval[string](b.Tab, "document.body.innerText"); !strings.Contains(text, "Licensing partner API") || !strings.Contains(text, "List licenses") {
		t.Errorf("the reference shows %.500s", text)
	}
	if others := browser.Eval[[]string](b.Tab, `performance.getEntriesByType('resource').map((e) => e.name).filter((u) => !u.startsWith(location.origin))`); len(others) > 0 {
		t.Errorf("the reference asks other hosts: %q", others)
	}
	b.Shots("docs-reference", 1280, 390)
}
