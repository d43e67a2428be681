package e2e_test

import (
	"os"
	"testing"

	"claviger/internal/e2e/browser"
)

// pictures names the folder for the pictures of README.md; `make pictures` sets it.
const pictures = "CLAVIGER_PICTURES"

// steady replaces volatile values: the port, the license key, the client id and times.
const steady = `(() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    n.data = n.data.replace(/127\.0\.0\.1:\d+/g, 'app.example.com')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '3794577c-5a4b-4f69-8e5f-6b0d1c2a9e10')
      .replace(/\b[0-9a-f]{32}\b/g, 'a575931a80adbd3ed412d2b748296008');
  }
  for (const e of document.querySelectorAll('time')) e.textContent = '2 Mar 2026, 10:00 UTC';
  return true;
})()`

// TestPictures takes the pictures of README.md: they change only if the pages do.
func TestPictures(t *testing.T) {
	dir := os.Getenv(pictures)
	if dir == "" {
		t.Skip("make pictures takes them")
	}
	b := newBuyer(t, nil)
	take := func(name string) {
		browser.Eval[bool](b.Tab, steady)
		b.Picture(dir, name)
	}
	b.visit("/sign-in")
	b.Type("#email", b.card.Buyer.Email)
	b.Type("#password", b.card.Buyer.Password)
	b.Press("main form button")
	b.visit("/products/1")
	take("product")
	b.buys()
	b.Press("main form button")
	b.on("Connect Sample App?")
	take("consent")
	b.Press("button[value=allow]")
	b.arrives()
	b.visit("/licenses")
	b.Press("main a[href^='/licenses/']")
	take("license")
}
