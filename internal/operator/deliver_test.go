package operator_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/apptest"

	"github.com/google/go-cmp/cmp"
)

// attempts are the attempts in the application's log.
type attempts struct{ apptest.Attempts }

// want compares the next attempts; those of different licenses come in any order.
func (a attempts) want(t *testing.T, name string, lines ...string) {
	t.Helper()
	var got []string
	for range lines {
		got = append(got, a.Next(t))
	}
	slices.Sort(got)
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// dispatch runs the application, which sends webhooks, until the test ends. From then on the clock
// is the machine's, because the dispatcher waits by it.
func (h *harness) dispatch() attempts {
	h.Helper()
	h.clock.UseMachine()
	log := attempts{h.Logged.Attempts()}
	h.Run()
	return log
}

// listen starts a partner's endpoint; takes decides whether it accepts a webhook.
func listen(t *testing.T, takes func(r *http.Request, body []byte) bool) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !takes(r, body) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestRedeliverSpan lets events fail for good and redelivers them: those of a span, those that
// failed, and after each the newest of its license.
func TestRedeliverSpan(t *testing.T) {
	h := newHarness(t)
	var takes atomic.Bool
	url := listen(t, func(*http.Request, []byte) bool { return takes.Load() })
	log := h.dispatch()
	start := h.clock.Now()
	h.must(200, "PATCH", "/operator/v1/partners/1", `{"webhook_url":"`+url+`"}`)
	first, second := h.buy("order-1"), h.buy("order-2")
	log.want(t, "both fail", "1 exhausted", "2 exhausted")
	takes.Store(true)
	h.must(200, "POST", "/operator/v1/licenses/"+first+"/activate", "")
	log.want(t, "a newer event of the first", "3 delivered")
	if got := h.must(200, "GET", "/operator/v1/partners/1", "").Body; !strings.Contains(got, `"webhook_url_validated":true`) {
		t.Errorf("a delivery has shown that the URL works: %s", got)
	}

	span := func(rest string) string {
		body := h.must(202, "POST", "/operator/v1/partners/1/redeliver", fmt.Sprintf(`{"from":%q%s}`, start.Format(time.RFC3339Nano), rest)).Body
		if got := h.must(200, "GET", "/operator/v1/partners/1/redeliver", "").Body; got != body {
			t.Errorf("a redelivery that is done: %s, shown as %s", body, got)
		}
		var r struct {
			Status string
			Count  int
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Status, " ", r.Count)
	}
	if got := span(`,"to":` + fmt.Sprintf("%q", start.Add(time.Microsecond).Format(time.RFC3339Nano))); got != "done 0" {
		t.Errorf("a span without events: %s", got)
	}
	if got := span(`,"only_failed":true`); got != "done 3" {
		t.Errorf("what failed, and the newest of its licenses: %s", got)
	}
	log.want(t, "what failed is delivered, and the newest of each license after it", "1 delivered", "2 delivered", "3 delivered")
	if got := span(`,"only_failed":true`); got != "done 0" {
		t.Errorf("nothing has failed any more: %s", got)
	}
	if got := span(""); got != "done 3" {
		t.Errorf("all: %s", got)
	}
	log.want(t, "all once more", "1 delivered", "2 delivered", "3 delivered")
	h.must(202, "POST", "/operator/v1/events/1/redeliver", "")
	log.want(t, "one, and the newest of its license", "1 delivered", "3 delivered")
	h.must(200, "POST", "/operator/v1/licenses/"+second+"/hold", `{"reason":"held"}`)
	log.want(t, "what is new", "4 delivered")
}

// TestSecretsTakeEffect rotates the webhook secret: the old one signs until the switch, the new one
// from the next webhook on.
func TestSecretsTakeEffect(t *testing.T) {
	h := newHarness(t)
	signatures := make(chan func(secret string) bool, 1)
	url := listen(t, func(r *http.Request, body []byte) bool {
		signature, text := r.Header.Get("X-Licensing-Signature"), r.Header.Get("X-Licensing-Timestamp")+string(body)
		signatures <- func(secret string) bool {
			mac := hmac.New(sha256.New, []byte(secret))
			_, _ = io.WriteString(mac, text)
			return signature == hex.EncodeToString(mac.Sum(nil))
		}
		return true
	})
	log := h.dispatch()
	h.must(200, "PATCH", "/operator/v1/partners/1", `{"webhook_url":"`+url+`"}`)
	rotate := func(overlap string) string {
		var v struct{ Secret string }
		h.must(200, "POST", "/operator/v1/partners/1/rotate", `{"what":"webhook_secret","overlap_s":`+overlap+`}`).Into(t, &v)
		return v.Secret
	}
	event := 0
	signs := func(name, secret string) {
		t.Helper()
		event++
		h.buy(fmt.Sprint("order-", event))
		if by := <-signatures; !by(secret) {
			t.Errorf("%s: another secret signed", name)
		}
		log.want(t, name, fmt.Sprint(event, " delivered"))
	}
	first := rotate("0")
	signs("the only one", first)
	second := rotate("3600")
	signs("the old one, while the overlap lasts", first)
	h.must(204, "POST", "/operator/v1/partners/1/switch", `{"what":"webhook_secret"}`)
	signs("the new one, from the switch on", second)
	signs("the newest, which ended the other at once", rotate("0"))
}
