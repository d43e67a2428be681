package devserver_test

import (
	"net/http"
	"testing"

	"claviger/internal/e2e/browser"
	"claviger/internal/sqldb/sqldbtest"
)

// TestGallery checks every part of a page in Chromium: axe, light and dark, desktop and phone. It
// looks the same on either database.
func TestGallery(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("looked at on SQLite")
	}
	w := run(t)
	tab := browser.Start(t).Tab(t)
	tab.Open(w.BaseURL + "/dev/gallery")
	tab.Look("gallery")
	tab.Click("figure.chart summary")
	tab.Look("gallery-open")
	for name, script := range map[string]string{
		"tables scroll inside their own box": `getComputedStyle(document.querySelector('.table-box')).overflowX`,
		"code scrolls inside its own box":    `getComputedStyle(document.querySelector('.code pre')).overflowX`,
	} {
		if got := browser.Eval[string](tab, script); got != "auto" {
			t.Errorf("%s: overflow-x is %q", name, got)
		}
	}
	if got := browser.Eval[int](tab, `document.querySelectorAll('[style], style, script:not([src])').length`); got != 0 {
		t.Errorf("%d elements have styles or scripts of their own", got)
	}
	tab.Click(".code .copy")
	if got := browser.Eval[string](tab, `new Promise((done) => {
		const status = document.querySelector('.code [role=status]');
		const look = () => { if (status.textContent) done(status.textContent); };
		new MutationObserver(look).observe(status, { subtree: true, childList: true, characterData: true });
		look();
	})`); got != "Copied" && got != "Selected" {
		t.Errorf("pressing Copy says %q", got)
	}
}

// TestGalleryAnswers: the page is served, also without Chromium.
func TestGalleryAnswers(t *testing.T) {
	w := run(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.BaseURL+"/dev/gallery", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("it answers %d", resp.StatusCode)
	}
}
