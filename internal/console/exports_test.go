package console_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

func init() { registry.Forms["/exports"] = form("format", "csv") }

// exported follows the link of a list to its export and downloads the file.
func (h *harness) exported(list, format string) (rows [][]string, text string) {
	h.Helper()
	page := h.as(viewer).Get(list)
	for _, a := range page.All(atom.A) {
		if pagetest.Words(a) == "Export…" {
			return h.download(pagetest.Attr(a, "href"), format)
		}
	}
	h.Fatalf("%s leads to no export", list)
	return nil, ""
}

// download presses the button of the page of an export.
func (h *harness) download(page, format string) (rows [][]string, text string) {
	h.Helper()
	ask := h.as(viewer).Get(page)
	wants(h, ask, http.StatusOK, "Download CSV", "Download NDJSON")
	action := ""
	for _, f := range ask.All(atom.Form) {
		if strings.Contains(pagetest.Attr(f, "action"), "/exports") && pagetest.Attr(f, "method") == "post" {
			action = pagetest.Attr(f, "action")
		}
	}
	answer := h.as(viewer).Send(h.Context(), http.MethodPost, action, url.Values{"format": {format}}, "same-origin")
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	h.Must(err)
	if d := answer.Header.Get("Content-Disposition"); answer.StatusCode != http.StatusOK || !strings.HasPrefix(d, "attachment;") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
		h.Fatalf("%s: %d %v\n%s", action, answer.StatusCode, answer.Header, body)
	}
	if format == "csv" {
		rows, err = csv.NewReader(strings.NewReader(string(body))).ReadAll()
		h.Must(err)
	}
	return rows, string(body)
}

// TestExportKeepsTheFilter: the export of a filtered list has the rows of that list.
func TestExportKeepsTheFilter(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Reef Maps", profile.URLs{})
	h.Plans(other.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	theirs := h.Buy(license.Purchase{PartnerID: other.ID, Tier: 1, Quantity: 2, ExternalID: "=reef", Buyer: &account.Person{Email: "bea@buyer.example"}})
	ours := h.sold().Licenses[0]
	_, err := h.Licenses.Hold(t.Context(), h.actor(admin), ours.Key, license.HoldOther)
	h.Must(err)
	_, err = h.Licenses.Reinstate(t.Context(), apptest.Tester, ours.Key)
	h.Must(err)
	_, err = h.Licenses.Activate(t.Context(), apptest.Tester, ours.Key, nil)
	h.Must(err)
	for list, want := range map[string]int{
		"/licenses": 3, "/licenses?license_status=active": 1, "/licenses?key=" + theirs.Key: 1, "/licenses?email=bea@buyer.example": 2,
		fmt.Sprintf("/licenses?partner_id=%d&license_status=active", other.ID): 0, fmt.Sprintf("/licenses?partner_id=%d&tier=1&before=1", other.ID): 2,
		"/licenses?to=2020-01-01T00:00:00Z": 0, "/licenses?from=2020-01-01T00:00:00Z": 3,
		"/purchases": 2, "/purchases?external_id=%3Dreef": 1, "/purchases?email=bea@buyer.example": 1, "/purchases?email=nobody@buyer.example": 0,
		"/audit?action=license.hold": 1, "/audit?actor=system&action=license.hold": 0, fmt.Sprintf("/audit?actor=user&id=%d&action=license.hold", h.User(admin).ID): 1,
		fmt.Sprintf("/audit?actor=user&id=%d&action=license.hold", h.User(sales).ID): 0,
	} {
		rows, text := h.exported(path("%s", list), "csv")
		if got := len(rows) - 2; got != want || rows[len(rows)-1][0] != "#complete" {
			t.Errorf("%s: %d rows, want %d:\n%s", list, got, want, text)
		}
	}
	if _, text := h.exported(path("/purchases?external_id=%%3Dreef"), "csv"); !strings.Contains(text, ",'=reef,") {
		t.Errorf("a formula is not prefixed in CSV:\n%s", text)
	}
	if _, text := h.exported(path("/purchases?external_id=%%3Dreef"), "ndjson"); !strings.Contains(text, `"external_id":"=reef"`) || !strings.Contains(text, `{"export_complete":true,"rows":1}`) {
		t.Errorf("NDJSON:\n%s", text)
	}
	events, text := h.download(path("/exports?list=events&license_key=%s&event=activate", ours.Key), "csv")
	if len(events) != 3 || !strings.Contains(text, ours.Key) { // the reinstated one was inactive
		t.Errorf("events:\n%s", text)
	}
}

// TestExportsAreListed: the page lists the person's exports to no one else; the audit names the
// person.
func TestExportsAreListed(t *testing.T) {
	h := start(t)
	h.sold()
	wants(t, h.as(viewer).Get(path("/exports")), http.StatusOK, "You exported nothing", "About 1 row.", "/operator/v1/exports/licenses?format=csv")
	h.download(path("/exports"), "csv")
	wants(t, h.as(viewer).Get(path("/exports")), http.StatusOK, "licenses CSV Done 1 row")
	wantsNone(t, h.as(admin).Get(path("/exports")), "licenses CSV Done 1 row")
	entry := h.lastAct("export:licenses")
	if entry.Action != "export.begin" || entry.Actor.ID != h.User(viewer).ID || entry.Actor.Session == "" {
		t.Errorf("the audit has %+v", entry)
	}
}

// TestExportRefuses: an invalid filter or list is reported, and no file starts.
func TestExportRefuses(t *testing.T) {
	h := start(t)
	for query, want := range map[string]string{
		"?list=licenses&license_status=odd": "Status", "?list=licenses&partner_id=x": "Partner's number", "?list=audit&actor=nobody": "Who", "?list=events&from=yesterday": "From",
	} {
		wants(t, h.as(viewer).Get(path("/exports%s", query)), http.StatusBadRequest, "There is a problem", want)
		wants(t, h.as(viewer).Post(path("/exports%s", query), "format", "csv"), http.StatusUnprocessableEntity, "There is a problem")
	}
	wants(t, h.as(viewer).Get(path("/exports?list=secrets")), http.StatusNotFound)
	wants(t, h.as(viewer).Post(path("/exports?list=deliveries"), "format", "csv"), http.StatusNotFound)
	wants(t, h.as(viewer).Post(path("/exports"), "format", "xlsx"), http.StatusBadRequest)
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'export.begin'`); n != 0 {
		t.Errorf("%d exports began", n)
	}
	wants(t, h.as(viewer).Post(path("/exports?list=licenses&license_key=zz"), "format", "csv"), http.StatusUnprocessableEntity, "There is a problem")
}
