package e2e_test

import (
	"testing"

	"claviger/internal/e2e/browser"
)

// TestConsoleExport: the page of a download shows its progress without a reload.
func TestConsoleExport(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/console/licenses?license_status=inactive")
	b.Press("main a[href^='/console/exports']")
	b.Await("button[value=csv]")
	browser.Eval[bool](b.Tab, "document.querySelector(`button[value=csv]`).click(), true") // the page stays: nothing is loaded
	b.Await("#mine tbody tr")
	b.Await("[action*='license_status=inactive']")
}
