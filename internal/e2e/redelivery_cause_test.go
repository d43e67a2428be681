package e2e_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/devserver"
)

// address is a partner's server at a fixed address that can be down.
type address struct {
	t  *testing.T
	at string

	mu   sync.Mutex
	took []int64 // events that were accepted
}

// listen starts to listen, and answers webhooks or hangs up.
func (a *address) listen(hangUp bool) *httptest.Server {
	a.t.Helper()
	l, err := new(net.ListenConfig).Listen(a.t.Context(), "tcp", a.at)
	if err != nil {
		a.t.Fatal(err)
	}
	a.at = l.Addr().String()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangUp {
			panic(http.ErrAbortHandler)
		}
		var body struct {
			EventID int64 `json:"event_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.took = append(a.took, body.EventID)
		_, _ = w.Write([]byte(`{"success":true}`))
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	a.t.Cleanup(s.Close)
	return s
}

// TestRedeliveryOfACause: failures without an answer are distinguished by their cause, and "Replay
// these" sends only those of one cause. The page of the recovery shows its end without a reload.
func TestRedeliveryOfACause(t *testing.T) {
	t.Parallel()
	server := &address{t: t, at: "127.0.0.1:0"}
	hangsUp := server.listen(true)
	b := newBuyer(t, func(c *devserver.Config) {
		c.Webhook = hangsUp.URL + "/hook"
		c.App.Retry = []time.Duration{10 * time.Minute, time.Hour}
	})
	b.signInAs(b.card.Member.Email, b.card.Member.Password)
	overview := b.path("/overview")
	await := func(text string) {
		t.Helper()
		for b.visit(overview); !strings.Contains(b.Text("main"), text); b.visit(overview) {
			if t.Context().Err() != nil {
				t.Fatalf("the page says %s", b.Text("main"))
			}
		}
	}
	sell(t, b.card, 2)
	await("2 deliveries, one cause")
	hangsUp.Close()
	sell(t, b.card, 3)
	await("5 deliveries, 2 causes")
	server.listen(false)

	b.Press("main a[href*='/recover'][href*='code=refused']")
	b.on("Recover")
	if text := b.Text("#plan-title"); text != "3 failed events whose last attempt met no answer (refused)" {
		t.Errorf("the plan says %q", text)
	}
	b.Press("main form[method=post] button[type=submit]")
	b.on("Recovery")
	b.Await("#recovery .badge.good")
	await("2 deliveries, one cause")
	server.mu.Lock()
	defer server.mu.Unlock()
	if slices.Sort(server.took); len(server.took) != 3 || server.took[0] <= 2 {
		t.Errorf("sent are the events %v", server.took)
	}
}
