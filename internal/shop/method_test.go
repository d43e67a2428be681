package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// TestOtherMethods: unsupported methods get an error page, and the log still does not contain the
// id of a license.
func TestOtherMethods(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.AddSecret(l.RedemptionID)
	for _, c := range []struct{ method, path, allow, says string }{
		{http.MethodPut, "/sign-in", "GET, HEAD, POST", "nothing was changed"},
		{http.MethodPut, "/sign-in/", "GET, HEAD, POST", "nothing was changed"},
		{http.MethodPost, "/licenses", "GET, HEAD", "nothing was changed"},
		{http.MethodGet, "/openid/authorize/decide", "POST", "only receives a form"},
		{http.MethodDelete, "/openid/authorize", "GET, HEAD, POST", "nothing was changed"},
		{http.MethodPatch, pagetest.RedeemPath(l), "GET, HEAD, POST", "nothing was changed"},
	} {
		s := b.Do(c.method, c.path, nil, "same-origin")
		if s.Status != http.StatusMethodNotAllowed || s.Title() != "This is not possible here" || s.Header.Get("Allow") != c.allow || !strings.Contains(s.Text(), c.says) {
			t.Errorf("%s %s: %d, Allow %q, %s", c.method, c.path, s.Status, s.Header.Get("Allow"), s.Body)
		}
	}
}
