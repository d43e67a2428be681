package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
)

// TestConsoleParkedEndpoint: an operator finds a parked endpoint on Today, reads the answer of the
// partner's server, retries it after the fix, and sees it disappear without a reload.
func TestConsoleParkedEndpoint(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	took := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		_, _ = w.Write([]byte(`{"success":true}`))
		took <- struct{}{}
	}))
	t.Cleanup(server.Close)
	b := newBuyer(t, func(c *devserver.Config) {
		c.Webhook = server.URL + "/hook"
		c.App.Retry = []time.Duration{10 * time.Minute, time.Hour}
	})
	b.signInAs(b.card.Operator.Email, b.card.Operator.Password)
	b.visit("/console/")
	sell(t, b.card, 2)
	b.says("#today", "Parked endpoints")
	b.says("#today", "2 events wait")
	b.look("console-today-parked")

	b.visit("/console/deliveries?state=failed")
	b.Press("#deliveries tbody a")
	b.says("#delivery", "410 Gone")
	b.says("#delivery", "endpoint is parked")
	b.look("console-delivery-parked")

	mended.Store(true)
	b.visit("/console/")
	browser.Eval[bool](b.Tab, `[...document.querySelectorAll('.todo button')].find((e) => e.textContent.startsWith('Try now')).setAttribute('id', 'the-button') === undefined`)
	b.Press("#the-button")
	b.wantText("is tried now")
	<-took
	<-took
	b.visit("/console/")
	browser.Eval[bool](b.Tab, `new Promise((done) => {
		const look = () => { if (!document.querySelector('#today').textContent.includes('Parked endpoints')) done(true); };
		new MutationObserver(look).observe(document, { subtree: true, childList: true });
		look();
	})`)
	b.look("console-today-recovered")
}
