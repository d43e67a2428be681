package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
)

// TestUnknownNames sends an unknown query parameter, and an unknown member if there is a body, to
// every route: each refuses it by name and changes nothing.
func TestUnknownNames(t *testing.T) {
	h := newHarness(t)
	key := h.buy("order-1")
	before := h.counts()
	refused := func(method, path, body, field string) {
		a := h.send(h.tokens[account.Admin], method, path, body)
		if a.Status != http.StatusBadRequest || a.Code() != "unknown_parameter" || !strings.Contains(a.Body, `"field":"`+field+`"`) {
			t.Errorf("%s %s %s answered %d: %s", method, path, body, a.Status, a.Body)
		}
	}
	for _, r := range h.operator.Routes() {
		if r.Public {
			continue
		}
		path := strings.NewReplacer("{id}", "1", "{tier}", "1", "{key}", key).Replace(r.Path)
		refused(r.Method, path+"?xyzzy=1", "", "xyzzy")
		if r.Method != http.MethodGet && r.Method != http.MethodDelete && path != batch && path != "/operator/v1/import" {
			refused(r.Method, path, `{"xyzzy":1}`, "xyzzy")
		}
	}
	refused("POST", "/operator/v1/purchases", `{"partner_id":1,"tier":1,"external_id":"o-2","user":{"emial":"a@b.example"}}`, "user.emial")
	if a := h.sendBy(http.DefaultClient, h.tokens[account.Sell], "POST", batch, `[{"xyzzy":1}]`); !strings.Contains(a.Body, `"error":"unknown_parameter"`) || !strings.Contains(a.Body, `"field":"xyzzy"`) {
		t.Errorf("an order of a batch answered %s", a.Body)
	}
	if h.counts() != before {
		t.Errorf("something was changed:\n%s\n%s", before, h.counts())
	}
}

// TestTyposOfPlans repeats typos that once created a free plan.
func TestTyposOfPlans(t *testing.T) {
	h := newHarness(t)
	for body, text := range map[string]string{
		`{"name":"Solo","price":5900,"currency":"EUR"}`:      "Did you mean price_cents?",
		`{"name":"Solo","price_cents":5900,"curency":"EUR"}`: "Did you mean currency?",
	} {
		a := h.send(h.tokens[account.Admin], "PUT", "/operator/v1/partners/1/plans/4", body)
		if a.Status != http.StatusBadRequest || a.Code() != "unknown_parameter" || !strings.Contains(a.Body, text) {
			t.Errorf("%s answered %d: %s", body, a.Status, a.Body)
		}
	}
	if a := h.send(h.tokens[account.Read], "GET", "/operator/v1/partners/1/plans/4", ""); a.Status != http.StatusNotFound {
		t.Errorf("there is a plan: %s", a.Body)
	}
}

// TestReadAndSentBack sends the answer of GET back with one member changed: read-only members are
// ignored, the rest stays.
func TestReadAndSentBack(t *testing.T) {
	h := newHarness(t)
	partner := fmt.Sprintf("/operator/v1/partners/%d", h.partner)
	h.send(h.tokens[account.Admin], "PATCH", partner, `{"webhook_url":"https://app.example.com/hook","redirect_url":"https://app.example.com/back"}`)
	for _, test := range []struct{ method, path, from, to string }{
		{"PATCH", partner, `"name":"Tide Planner"`, `"name":"Ebb Planner"`},
		{"PUT", partner + "/plans/1", `"price_cents":4900`, `"price_cents":5900`},
	} {
		read := h.send(h.tokens[account.Read], "GET", test.path, "")
		want := strings.Replace(read.Body, test.from, test.to, 1)
		if want == read.Body {
			t.Fatalf("%s has no %s", read.Body, test.from)
		}
		a := h.send(h.tokens[account.Admin], test.method, test.path, want)
		now := h.send(h.tokens[account.Read], "GET", test.path, "")
		if a.Status != http.StatusOK || unstamped(now.Body) != unstamped(want) {
			t.Errorf("%s %s answered %d: %s\nit is now\n%s\nwant\n%s", test.method, test.path, a.Status, a.Body, now.Body, want)
		}
		if a := h.send(h.tokens[account.Admin], test.method, test.path, strings.Replace(want, `"created_at"`, `"createdAt"`, 1)); a.Code() != "unknown_parameter" {
			t.Errorf("a read-only member misspelt answered %d: %s", a.Status, a.Body)
		}
	}
	if a := h.send(h.tokens[account.Admin], "PATCH", partner, `{"api_key":"lk_mine"}`); a.Code() != "unknown_parameter" {
		t.Errorf("a secret of one's own answered %d: %s", a.Status, a.Body)
	}
}

// unstamped returns a body without updated_at, which changes with every write.
func unstamped(body string) string {
	before, after, _ := strings.Cut(body, `"updated_at":"`)
	_, after, _ = strings.Cut(after, `"`)
	return before + after
}
