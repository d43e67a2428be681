package portal_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/visitor/pagetest"
)

func init() {
	forms["/exports"] = func(*harness, partner.Partner) url.Values { return url.Values{"format": {"ndjson"}} }
	queries["/exports"] = func(h *harness, p partner.Partner) url.Values {
		key := "00000000-0000-4000-8000-00000000dead"
		if p.ID != 0 {
			key = h.sell(p).Key
		}
		return url.Values{"list": {"deliveries"}, "license": {key}, "range": {"all"}}
	}
}

// file downloads the file of an export.
func (h *harness) file(email, query, format string) (status int, text string) {
	h.Helper()
	answer := h.as(email).Send(h.Context(), http.MethodPost, h.path("/exports")+query, url.Values{"format": {format}}, "same-origin")
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	h.Must(err)
	return answer.StatusCode, string(body)
}

// exported follows the link of a list to its export and downloads the file; rows are those between
// the first line and the end marker.
func (h *harness) exported(list string) (rows []string, text string) {
	h.Helper()
	page := h.as(viewer).Get(h.path("%s", list))
	for _, a := range page.All(atom.A) {
		if pagetest.Words(a) != "Export…" {
			continue
		}
		to := pagetest.Attr(a, "href")
		ask := h.as(viewer).Get(to)
		wantsIn(h, ask, "Download CSV", "/v2/exports/")
		_, query, _ := strings.Cut(to, "?")
		status, text := h.file(viewer, "?"+query, "csv")
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if status != http.StatusOK || !strings.HasPrefix(lines[len(lines)-1], "#complete") {
			h.Fatalf("%s: %d\n%s", to, status, text)
		}
		return lines[1 : len(lines)-1], text
	}
	h.Fatalf("%s leads to no export", list)
	return nil, ""
}

func wantsIn(h *harness, page *pagetest.Page, texts ...string) {
	h.Helper()
	for _, text := range texts {
		if page.Status != http.StatusOK || !strings.Contains(page.Body, text) {
			h.Errorf("%d, no %q in %s", page.Status, text, page.Text())
		}
	}
}

// TestExports: the file has the rows of the filtered list: none of another partner, no buyer, and
// no text of an operator.
func TestExports(t *testing.T) {
	h := start(t)
	ours, theirs := h.sell(h.tide), h.sell(h.reef)
	second := h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: "bea@buyer.example", Name: "Bea Buyer"}})
	_, err := h.Licenses.Activate(t.Context(), apptest.Tester, second.Key, nil)
	h.Must(err)
	_, _, err = h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "secret words about fraud")
	h.Must(err)
	h.refuse(h.tide, "req_mine")
	h.refuse(h.reef, "req_theirs")
	for list, want := range map[string]int{
		"/licenses": 2, "/licenses?license_status=active": 1, "/licenses?key=" + ours.Key: 1, "/licenses?key=" + theirs.Key: 0, "/licenses?to=2020-01-01T00:00:00Z": 0,
		"/deliveries?range=all": 3, "/deliveries?range=all&license=" + second.Key: 2, "/deliveries?range=all&license=" + theirs.Key: 0, "/deliveries?range=all&state=delivered": 0,
		"/requests": 1, "/requests?http_status=401": 0, "/requests?request_id=req_theirs": 0,
		"/audit": -1,
	} {
		rows, text := h.exported(list)
		if len(rows) != want && want >= 0 || want < 0 && len(rows) == 0 {
			t.Errorf("%s: %d rows, want %d:\n%s", list, len(rows), want, text)
		}
		for _, hidden := range []string{"@buyer.example", "Bea Buyer", "fraud", theirs.Key, "req_theirs", h.reef.Name} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s has %q in it:\n%s", list, hidden, text)
			}
		}
	}
	page := h.as(viewer).Get(h.path("/exports"))
	wantsIn(h, page, "Your exports of the last 24 hours", "licenses")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'export.begin' AND subject = $1 AND actor_kind = 'user'`, fmt.Sprintf("partner:%d", h.tide.ID)); n != 13 {
		t.Errorf("%d entries", n)
	}
	if strings.Contains(h.as(admin).Get(h.path("/exports")).Body, "Your exports of the last 24 hours") {
		t.Error("an admin sees the exports of somebody else")
	}
}

// TestExportOfForeignIDs: a license of another partner gets the answer of a missing one, byte for
// byte, in each list and format.
func TestExportOfForeignIDs(t *testing.T) {
	h := start(t)
	h.sell(h.tide)
	theirs := h.sell(h.reef).Key
	const unknown = "00000000-0000-4000-8000-00000000dead"
	for _, query := range []string{"?list=licenses&key=", "?list=deliveries&range=all&license=", "?list=requests&license_key="} {
		for _, format := range []string{"csv", "ndjson"} {
			status, foreign := h.file(admin, query+theirs, format)
			none, nothing := h.file(admin, query+unknown, format)
			if status != none || foreign != nothing {
				t.Errorf("%s as %s: %d %q, unknown %d %q", query, format, status, foreign, none, nothing)
			}
		}
	}
	for _, query := range []string{"?list=purchases", "?list=events", "?list=x"} {
		if status, _ := h.file(admin, query, "csv"); status != http.StatusNotFound {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// TestExportOfARemovedMember: former members cannot export.
func TestExportOfARemovedMember(t *testing.T) {
	h := start(t)
	if status, _ := h.file(viewer, "", "csv"); status != http.StatusOK {
		t.Fatalf("as a member: %d", status)
	}
	boss := audit.Actor{Kind: audit.ByUser, ID: h.User(admin).ID, ActingFor: h.tide.ID}
	h.Must(h.Partners.RemoveMember(t.Context(), boss, h.tide.ID, h.User(viewer).ID))
	if status, _ := h.file(viewer, "", "csv"); status != http.StatusSeeOther {
		t.Errorf("with the session of a member: %d", status)
	}
	h.as(viewer).SignIn(viewer, password)
	if status, text := h.file(viewer, "", "csv"); status != http.StatusNotFound || strings.Contains(text, "license_key") {
		t.Errorf("after: %d %s", status, text)
	}
}
