package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
)

// broken is a partner's server that refuses every webhook until it is fixed.
type broken struct {
	*httptest.Server
	mended atomic.Bool
	took   atomic.Int64
}

func newBroken(t *testing.T) *broken {
	b := &broken{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Test bool `json:"test"`
		}
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &body)
		if !b.mended.Load() {
			// Without it, waiting events are sent early after the first success if the test is so
			// slow that the endpoint counts as out; nothing would be left.
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("invalid \u202Esignature\x07"))
			return
		}
		if !body.Test {
			b.took.Add(1)
		}
		_, _ = w.Write([]byte(`{"success":true}`))
	}))
	t.Cleanup(b.Close)
	return b
}

// sell sells licenses of the seeded partner.
func sell(t *testing.T, card devserver.Card, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"partner_id":%d,"tier":1,"quantity":%d,"user":{"email":"secret.buyer@example.com"},"external_id":%q}`, card.Partner.ID, n, rand.Text())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, card.OperatorURL+"/purchases", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+card.OperatorToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("the purchase was answered %d: %s", res.StatusCode, text)
	}
}

// TestRecover: a member finds a failing endpoint, reads the cause, fixes it, and resends the failed
// events. No page shows the address of a buyer.
func TestRecover(t *testing.T) {
	t.Parallel()
	server := newBroken(t)
	b := newBuyer(t, func(c *devserver.Config) {
		c.Webhook = server.URL + "/hook"
		c.App.Retry = []time.Duration{10 * time.Minute, time.Hour}
	})
	sell(t, b.card, 6)
	portal := fmt.Sprintf("/portal/%d", b.card.Partner.ID)
	look := func(name string) {
		t.Helper()
		if strings.Contains(browser.Eval[string](b.Tab, "document.documentElement.outerHTML"), "secret.buyer") {
			t.Errorf("%s shows the address of a buyer", name)
		}
		b.Look("portal-" + name)
	}

	b.visit("/sign-in?next=" + portal + "/deliveries")
	b.Type("#email", b.card.Member.Email)
	b.Type("#password", b.card.Member.Password)
	b.Press("main button[type=submit]")
	b.on("Deliveries")
	for !strings.Contains(b.Text(".lead"), "6 failed") { // all of them were tried
		b.visit(portal + "/deliveries")
	}
	look("deliveries")

	// Found: the number of failures links to them, and a row to its cause.
	b.Press("#failed")
	b.Await("#deliveries tbody tr")
	if rows := browser.Eval[int](b.Tab, "document.querySelectorAll('#deliveries tbody tr').length"); rows != 6 {
		t.Errorf("%d rows", rows)
	}
	first := browser.Eval[string](b.Tab, "document.querySelector('#deliveries tbody a').id")
	b.Press("#deliveries tbody a")
	b.on("Event")
	text := b.Text("main")
	for _, want := range []string{"401 Unauthorized", "Failing", "Timing", "First byte", `invalid \u202Esignature`, "webhook-signature", "$SECRET", "localhost:3000"} {
		if !strings.Contains(text+browser.Eval[string](b.Tab, "document.querySelector('main').textContent"), want) {
			t.Errorf("the attempt's page does not say %q", want)
		}
	}
	look("attempt")
	b.Back()
	b.Await("#deliveries tbody tr")
	if focused := browser.Eval[string](b.Tab, "document.activeElement.id"); focused != first {
		t.Errorf("going back focuses %q, not %q", focused, first)
	}

	// The link does the same, to the list with its filters.
	b.Press("#deliveries tbody a")
	b.on("Event")
	b.Press("main a[href*='#delivery-']")
	b.Await("#deliveries tbody tr")
	if at := b.Location(); !strings.Contains(at, "state=failed") {
		t.Errorf("the way back leads to %s", at)
	}
	if focused := browser.Eval[string](b.Tab, "document.activeElement.id"); focused != first {
		t.Errorf("the way back focuses %q, not %q", focused, first)
	}

	// A new delivery waits behind a notice; nothing moves.
	b.visit(portal + "/deliveries")
	const places = `[...document.querySelectorAll('main .bar a:not(#news-link), #deliveries')].
		map((e) => [e.getBoundingClientRect().x, e.getBoundingClientRect().y].join()).join(' ')`
	before := browser.Eval[string](b.Tab, places)
	sell(t, b.card, 1)
	b.Await("#news-link")
	if after := browser.Eval[string](b.Tab, places); after != before {
		t.Errorf("the notice moved the links and the list from %s to %s", before, after)
	}
	if got := b.Text("#news-link"); got != "1 new, show" {
		t.Errorf("the notice says %q", got)
	}
	b.Press("#news-link")
	b.Await("#deliveries tbody tr")

	// Fixed: resend one first, then all failed events.
	server.mended.Store(true)
	b.visit(portal + "/deliveries?state=failed")
	b.Press("#deliveries tbody a")
	b.Press("main a[href*='/send']")
	b.on("Send event")
	look("send-again")
	b.Press("main button[type=submit]")
	for server.took.Load() < 1 {
		b.visit(portal + "/deliveries?state=delivered")
	}
	b.visit(portal + "/recover?state=failed&range=all")
	b.on("Recover")
	look("recover")
	b.Press("main form[method=post] button[type=submit]")
	b.on("Recovery")
	b.Await("#recovery .badge.good") // it updates without a reload
	look("recovery")
	for server.took.Load() < 7 {
		b.visit(portal + "/deliveries?state=failed&range=all")
	}
	for !strings.Contains(b.Text("main"), "Nothing matches") {
		b.visit(portal + "/deliveries?state=failed&range=all")
	}
	look("nothing-matches")
	b.visit(portal + "/licenses")
	b.on("Licenses")
	look("licenses")
	b.Press("#licenses tbody a")
	b.on("License")
	look("license")
}
