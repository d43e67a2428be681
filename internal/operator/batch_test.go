package operator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

const batch = purchases + "/batch"

// TestBatchLimits: a batch that is too large is refused as a whole, and changes nothing.
func TestBatchLimits(t *testing.T) {
	h := newHarness(t)
	before := h.counts()
	order := func(quantity int) string {
		return fmt.Sprintf(`{"partner_id":1,"tier":1,"quantity":%d,"external_id":"%d"}`, quantity, quantity)
	}
	for name, c := range map[string]struct {
		body, contentType string
		status            int
		code              string
	}{
		"licenses":      {"[" + strings.Repeat(order(100)+",", 10) + order(1) + "]", "", 422, "batch_too_large"},
		"lines":         {strings.Repeat("{}\n", 1001), "application/x-ndjson", 422, "batch_too_large"},
		"bytes":         {"[" + strings.Repeat(" ", 2<<20) + "]", "", 413, "body_too_large"},
		"no list":       {order(1), "", 400, "invalid_body"},
		"no JSON":       {"[" + order(1), "", 400, "invalid_body"},
		"nothing":       {" ", "", 400, "invalid_body"},
		"another media": {order(1), "text/csv", 415, "unsupported_media_type"},
	} {
		var header []string
		if c.contentType != "" {
			header = append(header, "Content-Type: "+c.contentType)
		}
		a := h.sendBy(http.DefaultClient, h.tokens[account.Sell], "POST", batch, c.body, header...)
		if a.Status != c.status || a.Code() != c.code {
			t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
		}
	}
	if after := h.counts(); after != before {
		t.Errorf("refused batches changed something:\n%s\n%s", before, after)
	}
	for want, body := range map[string]string{`{"size":0,"items":[]}`: "[]", "": "\n\n"} {
		contentType := map[string]string{"[]": "application/json", "\n\n": "application/x-ndjson"}[body]
		if a := h.send(h.tokens[account.Sell], "POST", batch, body, "Content-Type: "+contentType); a.Status != 200 || a.Body != want {
			t.Errorf("nothing as %s: answered %d %s", contentType, a.Status, a.Body)
		}
	}
}

// TestBatchOfSeveralPartners: the answers are in the order of the batch, with orders of two
// partners in turn; a repeat gets the same bytes.
func TestBatchOfSeveralPartners(t *testing.T) {
	h := newHarness(t)
	other, _ := h.Partner("Other", profile.URLs{})
	h.Plans(other.ID, 3, partner.Plan{Currency: "EUR"})
	var orders []string
	for i := range 20 {
		orders = append(orders, fmt.Sprintf(`{"partner_id":%d,"tier":1,"external_id":"order-%d","user":{"email":"buyer%d@example.com"}}`, []int64{h.partner, other.ID}[i%2], i, i%3))
	}
	body := "[" + strings.Join(orders, ",") + "]"
	first := h.must(200, "POST", batch, body)
	var got struct {
		Size  int
		Items []struct {
			Status     int
			ExternalID string `json:"external_id"`
			Sale       struct {
				Purchase struct {
					PartnerID  int64  `json:"partner_id"`
					ExternalID string `json:"external_id"`
				}
			}
		}
	}
	first.Into(t, &got)
	if got.Size != 20 {
		t.Fatalf("answered %s", first.Body)
	}
	for i, item := range got.Items {
		want := fmt.Sprint("order-", i)
		if p := item.Sale.Purchase; item.Status != 201 || item.ExternalID != want || p.ExternalID != want || p.PartnerID != []int64{h.partner, other.ID}[i%2] {
			t.Errorf("order %d: %+v", i, item)
		}
	}
	if again := h.must(200, "POST", batch, body); again.Body != first.Body {
		t.Errorf("repeated: answered\n%s\nwant\n%s", again.Body, first.Body)
	}
	lines := h.must(200, "POST", batch, strings.Join(orders, "\n"), "Content-Type: application/x-ndjson")
	if want := strings.TrimSuffix(strings.TrimPrefix(first.Body, `{"size":20,"items":[`), "]}"); strings.ReplaceAll(strings.TrimSpace(lines.Body), "\n", ",") != want {
		t.Errorf("in lines: answered\n%s", lines.Body)
	}
}

// slowBody signals when it is read, and blocks until it is released.
type slowBody struct {
	io.Reader
	read, let chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.read != nil {
		close(b.read)
		b.read = nil
		<-b.let
	}
	return b.Reader.Read(p)
}

// TestBatchesTakeTurns: a token can sell a limited number of batches at the same time and is told
// to wait with more; a batch that is still being received does not count.
func TestBatchesTakeTurns(t *testing.T) {
	h := newHarness(t)
	h.operator.Batches = &wire.Share{Total: 2, Patience: time.Nanosecond} // a token may have half
	body := fmt.Sprintf(`[{"partner_id":%d,"tier":1,"external_id":"one"}]`, h.partner)
	slow := &slowBody{strings.NewReader(body), make(chan struct{}), make(chan struct{})}
	read, answered := slow.read, httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "POST", batch, slow)
	r.Header.Set("Authorization", "Bearer "+h.tokens[account.Sell])
	r.Header.Set("Content-Type", "application/json")
	var wg sync.WaitGroup
	wg.Go(func() { h.operator.Handler().ServeHTTP(answered, r) })
	<-read
	if a := h.send(h.tokens[account.Sell], "POST", batch, body); a.Status != 200 {
		t.Errorf("beside a slow sender: answered %d %s", a.Status, a.Body)
	}
	me, err := h.Accounts.ByToken(t.Context(), h.tokens[account.Sell])
	h.Must(err)
	key := fmt.Sprint("token:", me.ID)
	h.Must(h.operator.Batches.Acquire(t.Context(), key, 1))
	if a := h.send(h.tokens[account.Sell], "POST", batch, body); a.Status != 429 || a.Code() != "too_many_at_once" {
		t.Errorf("one too many: answered %d %s", a.Status, a.Body)
	}
	h.operator.Batches.Release(key, 1)
	close(slow.let)
	if wg.Wait(); answered.Code != 200 {
		t.Errorf("the slow sender: answered %d %s", answered.Code, answered.Body)
	}
}
