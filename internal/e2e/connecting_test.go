package e2e_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
)

// TestJourneyWaits: the application does not answer its webhooks, so the buyer sees a waiting page,
// and still arrives.
func TestJourneyWaits(t *testing.T) {
	t.Parallel()
	hung := newEndpoint(t, friendly)
	b := newBuyer(t, func(c *devserver.Config) { c.Webhook = hung.URL })
	hung.know(b.card.Partner.WebhookSecret)
	seen := make(chan struct{})
	front := lingering(t, b.card.BaseURL, seen)
	_, page := b.sold(b.card.Buyer.Email, "o-1")

	b.Open(front + strings.TrimPrefix(page, b.card.BaseURL))
	b.Type("#email", b.card.Buyer.Email)
	b.Type("#password", b.card.Buyer.Password)
	b.Press("main form button")
	b.on("is ready")
	b.Press("main form button")
	b.on("Connect Sample App?")
	pages := browser.Eval[int](b.Tab, `history.length`)
	// It answers until here: after a failed delivery of this license the page would not wait for
	// the next, and the timeout of an attempt passes quickly on a busy machine.
	hung.await(t, "news of the sale", func() bool { return len(hung.delivered) == 1 })
	hung.closeGate()
	b.Click("button[value=allow]")
	b.Await(".progress")
	b.on("Connecting you to Sample App…")
	b.Look("09-connecting")

	close(seen)
	b.arrives()
	if at := b.Location(); !strings.HasPrefix(at, b.card.BaseURL+"/dev/partner/callback?code=") {
		t.Errorf("the buyer is at %s", at)
	}
	if now := browser.Eval[int](b.Tab, `history.length`); now != pages+1 {
		t.Errorf("the way back is over %d pages after %d: the page that only waits is one of them", now, pages)
	}
	hung.openGate()
	hung.check(t)
}

// lingering is a proxy in front of the marketplace. It holds back the end of an automatically
// continuing page until the test has seen it: one second is too short.
func lingering(t *testing.T, marketplace string, seen <-chan struct{}) string {
	t.Helper()
	to, err := url.Parse(marketplace)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // immediately
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Body = &lingeringBody{Closer: r.Body, lines: bufio.NewReader(r.Body), seen: seen}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// lingeringBody passes on a page line by line.
type lingeringBody struct {
	io.Closer
	lines *bufio.Reader
	line  []byte
	seen  <-chan struct{}
}

// Read waits before the line that makes the browser continue.
func (b *lingeringBody) Read(p []byte) (int, error) {
	if len(b.line) == 0 {
		var err error
		if b.line, err = b.lines.ReadBytes('\n'); len(b.line) == 0 {
			return 0, err
		}
		if bytes.Contains(b.line, []byte(`http-equiv="refresh"`)) {
			<-b.seen
		}
	}
	n := copy(p, b.line)
	b.line = b.line[n:]
	return n, nil
}
