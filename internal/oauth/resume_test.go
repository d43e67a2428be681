package oauth_test

import (
	"slices"
	"testing"
)

// TestRequestAt: a form may end at the application only if it leads to a request that passes all
// checks.
func TestRequestAt(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	right := "client_id=" + p.ClientID + "&response_type=code"
	for path, found := range map[string]bool{
		"/openid/authorize?" + right:                        true,
		"/openid/authorize/?" + right:                       true,
		"/openid/token?" + right:                            false,
		"/licenses?" + right:                                false,
		"/openid/authorize":                                 false,
		"/openid/authorize?" + right + "x":                  false,
		"/openid/authorize?" + right + "&client_id=other":   false,
		"/openid/authorize?" + right + "&state=%zz":         false,
		"/openid/authorize?response_type=code&client_id=no": false,
		"/openid/authorize\x00?" + right:                    false,
	} {
		r, err := w.RequestAt(t.Context(), path)
		if err != nil || (r.RedirectURL == home) != found || (r.FormTo() != nil) != found {
			t.Errorf("%q: %+v, %v", path, r, err)
		}
	}
	for url, want := range map[string][]string{
		"": nil, "https://a.example/": {"https:"}, "http://127.0.0.1:8080/": {"https:", "http:"},
	} {
		r, err := w.MarketplaceRequest(t.Context(), p.ID)
		w.Must(err)
		r.RedirectURL = url
		if !slices.Equal(r.FormTo(), want) {
			t.Errorf("a form to %q may end at %v", url, r.FormTo())
		}
	}
}

// TestRefreshWithoutItsAnswer: a used refresh token without a stored answer counts as stolen, also
// soon after its use.
func TestRefreshWithoutItsAnswer(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	h.Exec(`DELETE FROM oauth_answers`)
	h.refused(h.post(h.refreshOf(held.Refresh)), 400, "invalid_grant", "used already")
	if h.opens(next.Access) {
		t.Error("the tokens were not revoked")
	}
}

// TestRefreshWithSpoiledAnswer: a stored answer that cannot be opened is our failure. It is neither sent
// nor taken for theft.
func TestRefreshWithSpoiledAnswer(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	h.Exec(`UPDATE oauth_answers SET answer = 'spoiled'`)
	if a := h.post(h.refreshOf(held.Refresh)); a.Status != 500 {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
	if !h.opens(next.Access) {
		t.Error("the tokens were revoked")
	}
}
