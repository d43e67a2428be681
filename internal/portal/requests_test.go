package portal_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/requestlog"
	"claviger/internal/visitor/pagetest"
)

func init() {
	queries["/requests"] = func(h *harness, p partner.Partner) url.Values {
		if p.ID == 0 {
			return url.Values{"request_id": {"req_nowhere"}}
		}
		return url.Values{"request_id": {h.refuse(p, "req_of_"+fmt.Sprint(p.ID))}}
	}
}

// refuse logs a rejected call of a partner and returns its request id.
func (h *harness) refuse(p partner.Partner, id string) string {
	h.Helper()
	h.Requests.Refused(requestlog.Call{
		PartnerID: p.ID, Proven: true, Method: "POST", Path: "/openid/token", Route: "/openid/token", Status: 400,
		Code: "invalid_grant", Cause: "code_expired", Message: "The code of " + p.Name + " has expired. Exchange a code at once when it arrives.", RequestID: id,
	})
	h.Must(h.Requests.Flush(h.Context()))
	return id
}

// TestRequestsPage shows the reason of a rejected call, and finds it by every filter.
func TestRequestsPage(t *testing.T) {
	h := start(t)
	page := h.as(viewer).Get(h.path("/requests"))
	wants(t, page, http.StatusOK, "No call was refused")
	h.refuse(h.tide, "req_mine")
	h.refuse(h.reef, "req_theirs")
	for range 3 {
		h.Requests.Refused(requestlog.Call{
			PartnerID: h.tide.ID, Method: "POST", Path: "/openid/token", Route: "/openid/token", Status: 401,
			Code: "invalid_client", Cause: "client_secret_wrong", Message: "The client_secret is not one of this client_id.", RequestID: "req_somebody",
		})
	}
	h.Must(h.Requests.Flush(t.Context()))
	page = h.as(viewer).Get(h.path("/requests"))
	wants(t, page, http.StatusOK, "code_expired", "Exchange a code at once", "req_mine", "3 times since", "Not authenticated", "/v2/requests")
	if strings.Contains(page.Body, "Reef") || strings.Contains(page.Body, "req_theirs") {
		t.Error("a call of another partner is shown")
	}
	for _, query := range []string{"http_status=400", "code=code_expired", "path=token&code=invalid_grant", "request_id=req_mine", "from=2020-01-01T00:00:00Z&http_status=400"} {
		page := h.as(viewer).Get(h.path("/requests") + "?" + query)
		wants(t, page, http.StatusOK, "req_mine", "Clear filters")
		if strings.Contains(page.Body, "req_somebody") {
			t.Errorf("%s does not filter", query)
		}
	}
	wants(t, h.as(viewer).Get(h.path("/requests?code=other")), http.StatusOK, "No refused call matches", "Clear filters")
	wants(t, h.as(viewer).Get(h.path("/requests?http_status=abc")), http.StatusBadRequest, "must be an HTTP status")
	wants(t, h.as(viewer).Get(h.path("/requests?from=never")), http.StatusBadRequest, "must be a time")
	wants(t, h.as(viewer).Get(h.path("/requests")+"?code=%00&path=%ff&after=x"), http.StatusOK, "req_mine")
}

// TestRequestsPages pages through more calls than fit on one page.
func TestRequestsPages(t *testing.T) {
	h := start(t)
	for i := range 60 {
		h.refuse(h.tide, fmt.Sprintf("req_%02d_", i))
	}
	first := h.as(viewer).Get(h.path("/requests?http_status=400"))
	wants(t, first, http.StatusOK, "req_59_", "req_10_", `rel="next"`)
	next := ""
	for link := range first.Links(h.path("/requests")) {
		if strings.Contains(link, "after=") {
			next = link
		}
	}
	second := h.as(viewer).Get(next)
	wants(t, second, http.StatusOK, "req_09_", "req_00_", `rel="prev"`)
	if strings.Contains(second.Body, "req_10_") || strings.Contains(first.Body, "req_09_") {
		t.Error("the pages overlap")
	}
}

// wants checks the status of a page and the texts in its HTML.
func wants(t *testing.T, page *pagetest.Page, status int, texts ...string) {
	t.Helper()
	if page.Status != status {
		t.Errorf("status %d, want %d: %s", page.Status, status, page.Text())
	}
	for _, text := range texts {
		if !strings.Contains(page.Body, text) {
			t.Errorf("no %q in %s", text, page.Text())
		}
	}
}
