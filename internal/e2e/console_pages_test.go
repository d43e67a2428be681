package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/console"
)

// consoleDetails are pages of the console about one thing, opened by the first link of a list.
// Pages of the route table without a placeholder are checked automatically; add one with a
// placeholder here. `make screenshots` takes pictures of all of them, in light and dark, at 1280
// and 390 pixels.
var consoleDetails = []struct{ name, list, css string }{
	{"partner", "/partners", "#partners tbody a"},
	{"partner-product", "/partners/1", ".tabs a[href$='/product']"},
	{"partner-plans", "/partners/1", ".tabs a[href$='/plans']"},
	{"partner-plan", "/partners/1/plans", "#plans a[href$='/plans/1']"},
	{"partner-plan-remove", "/partners/1/plans", "#plans a[href$='/remove']"},
	{"partner-plan-price", "/partners/1/plans", "main a[href$='/change-price']"},
	{"partner-ledger", "/partners/1", ".tabs a[href$='/ledger']"},
	{"partner-terms", "/partners/1/ledger", "main a[href$='/terms']"},
	{"partner-adjust", "/partners/1/ledger", "main a[href$='/adjust']"},
	{"order", "/payments", "#orders tbody a"},
	{"dispute", "/payments", "#disputes tbody a"},
	{"payment-refund", "/payments", "#payments a[href$='/refund']"},
	{"payment-dismiss", "/payments", "#payments a[href$='/dismiss']"},
	{"partner-credentials", "/partners/1", ".tabs a[href$='/credentials']"},
	{"partner-rotate", "/partners/1/credentials", "#credentials a[href$='/rotate']"},
	{"partner-urls", "/partners/1", ".tabs a[href$='/urls']"},
	{"partner-contacts", "/partners/1", ".tabs a[href$='/contacts']"},
	{"partner-settings", "/partners/1", ".tabs a[href$='/settings']"},
	{"partner-single-key", "/partners/1/settings", "main a[href$='/single-key']"},
	{"partner-people", "/partners/1", ".tabs a[href$='/people']"},
	{"partner-pause", "/partners/1", "main a[href$='/pause']"},
	{"delivery", "/deliveries", "#deliveries tbody a"},
	{"delivery-send", "/deliveries/1", "main a[href$='/send']"},
	{"person", "/people", "#people tbody a"},
	{"person-session-end", "/people/3", "#sessions a"}, // the signed-in operator
	{"license", "/licenses", "#licenses tbody a"},
	{"purchase", "/purchases", "#purchases tbody a"},
	{"key-revoke", "/keys", "#keys a[href$='/revoke']"},
	{"bulk-job", "/bulk", "#jobs tbody a"},
}

// newOperator starts the service with sold licenses and signs the operator in.
func newOperator(t *testing.T) *buyer {
	t.Helper()
	b := newBuyer(t, nil)
	b.sold(b.card.Buyer.Email, "order-1")
	b.signInAs(b.card.Operator.Email, b.card.Operator.Password)
	return b
}

// TestConsolePages checks every page of the console.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.troubledPayments()
	var stops []stop
	for _, rt := range (&console.Handler{}).Table() {
		if rt.Kind != console.Page || strings.Contains(rt.Path, "{") {
			continue
		}
		query := ""
		if rt.Path == "/keys/rotate" {
			query = "?alg=ES256" // without it the page refuses
		}
		stops = append(stops, stop{"console" + strings.ReplaceAll(rt.Path, "/", "-"), "/console" + rt.Path + query, ""})
	}
	for _, d := range consoleDetails {
		stops = append(stops, stop{"console-" + d.name, "/console" + d.list, d.css})
	}
	b.walk(stops, b.card.Operator.Email, b.card.Operator.Password)
}
