package oauth_test

import (
	"net/http"
	"net/url"
	"testing"
)

// TestUnknownNamesAreIgnored sends unknown names, which an authorization server must ignore (RFC
// 6749 sections 3.1 and 3.2).
func TestUnknownNamesAreIgnored(t *testing.T) {
	h := newEndpoints(t)
	for name, asJSONBody := range map[string]bool{"a form": false, "JSON": true} {
		v := changed(h.exchangeOf(h.code(h.buy(h.ours))), "audience", "x", "grantType", "y")
		body, header := v.Encode(), []string{}
		if asJSONBody {
			body, header = asJSON(t, v), []string{"Content-Type: application/json"}
		}
		a := h.ask("POST", "/openid/token/?utm_source=x", body, header...)
		if a.Status != http.StatusOK {
			t.Fatalf("%s answered %d: %s", name, a.Status, a.Body)
		}
		q := url.Values{"access_token": {h.tokens(a).Access}, "fields": {"all"}}
		if a := h.ask("GET", "/openid/license_key?"+q.Encode(), ""); a.Status != http.StatusOK {
			t.Errorf("the license answered %d: %s", a.Status, a.Body)
		}
	}
}
