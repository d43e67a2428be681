package oauth_test

import (
	"net/url"
	"testing"
	"time"
)

// overtaken sends a form, and sends it a second time after the first request has read the
// code or token in it. It returns the answers in the order in which they were made.
func (h *endpoints) overtaken(form url.Values) (second, first answer) {
	h.Helper()
	now := h.Now
	h.Now = func() time.Time {
		h.Now = now
		second = h.post(form)
		return now()
	}
	first = h.post(form)
	return second, first
}

// TestOvertakenExchange: a request that read a code before another used it gets no tokens.
func TestOvertakenExchange(t *testing.T) {
	h := newEndpoints(t)
	second, first := h.overtaken(h.exchangeOf(h.code(h.buy(h.ours))))
	held := h.tokens(second)
	h.refused(first, 400, "invalid_grant", "used already")
	if n := h.Count(`SELECT count(*) FROM oauth_tokens`); n != 2 || !h.opens(held.Access) {
		t.Errorf("there are %d tokens, want 2 that serve", n)
	}
}

// TestOvertakenRefresh: a request that read a refresh token before another used it gets the
// answer of the other.
func TestOvertakenRefresh(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	second, first := h.overtaken(h.refreshOf(held.Refresh))
	if first.Status != 200 || first.Body != second.Body {
		t.Errorf("answered %d %s, and before %s", first.Status, first.Body, second.Body)
	}
	if n := h.Count(`SELECT count(*) FROM oauth_tokens`); n != 4 || !h.opens(h.tokens(first).Access) {
		t.Errorf("there are %d tokens, want 4 of which the new ones serve", n)
	}
}
