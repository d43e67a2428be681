package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestBrandHeader: a partner can send its key, and only its key, in the header of its own brand.
func TestBrandHeader(t *testing.T) {
	h := newHarness(t)
	enrol := func(brand string) string {
		_, _, c, err := h.Profiles.Enrol(t.Context(), tester, partner.Draft{Name: brand, Brand: brand}, profile.URLs{}, false, partner.Credentials{})
		h.Must(err)
		return c.APIKey
	}
	acme, other := enrol("aCME-2"), enrol("Forwarded")
	url := h.serve()
	for name, c := range map[string]struct {
		header http.Header
		status int
		code   string
	}{
		"own":                    {http.Header{"X-Acme-2-Licensing-Key": {acme}}, 200, ""},
		"own, a word of proxies": {http.Header{"X-Forwarded-Licensing-Key": {other}}, 200, ""},
		"another's":              {http.Header{"X-Forwarded-Licensing-Key": {acme}}, 401, "missing_credentials"},
		"nobody's":               {http.Header{"X-Nobody-Licensing-Key": {acme}}, 401, "missing_credentials"},
		"own, a wrong key":       {http.Header{"X-Acme-2-Licensing-Key": {"lk_c0ffee"}}, 401, "invalid_key"},
		"empty":                  {http.Header{"X-Acme-2-Licensing-Key": {" "}}, 401, "missing_credentials"},
		"own and another's":      {http.Header{"X-Acme-2-Licensing-Key": {acme}, "X-Forwarded-Licensing-Key": {other}}, 400, "several_keys"},
		"the same twice":         {http.Header{"X-Acme-2-Licensing-Key": {acme}, "X-Forwarded-Licensing-Key": {acme}}, 200, ""},
		"beside a bearer":        {http.Header{"Authorization": {"Bearer " + acme}, "X-Acme-2-Licensing-Key": {acme}}, 200, ""},
		"against a bearer":       {http.Header{"Authorization": {"Bearer " + acme}, "X-Acme-2-Licensing-Key": {other}}, 400, "several_keys"},
		"foreign beside bearer":  {http.Header{"Authorization": {"Bearer " + acme}, "X-Forwarded-Licensing-Key": {other}}, 200, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v2/profile", nil)
		h.Must(err)
		req.Header = c.header
		resp, err := http.DefaultClient.Do(req)
		h.Must(err)
		body, err := io.ReadAll(resp.Body)
		h.Must(err)
		h.Must(resp.Body.Close())
		text := string(body)
		if resp.StatusCode != c.status || c.code != "" && !strings.Contains(text, `"error":"`+c.code+`"`) || strings.Contains(text, acme) || strings.Contains(text, other) {
			t.Errorf("%s: %d %s, want %d %s", name, resp.StatusCode, text, c.status, c.code)
		}
	}
}
