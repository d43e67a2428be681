package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"

	"golang.org/x/net/html/atom"
)

// hidden returns the hidden field of a page.
func hidden(s *pagetest.Page, name string) string {
	s.Helper()
	for _, input := range s.All(atom.Input) {
		if pagetest.Attr(input, "type") == "hidden" && pagetest.Attr(input, "name") == name {
			return pagetest.Attr(input, "value")
		}
	}
	s.Fatalf("the page has no hidden field %s", name)
	return ""
}

// TestPartnersList: each partner with its state, and the filters of the URL.
func TestPartnersList(t *testing.T) {
	h := start(t)
	well, _ := h.Partner("Anchor Log", profile.URLs{Webhook: "https://anchor.example/hook"})
	_, _, err := h.Profiles.Pause(h.Context(), apptest.Tester, well.ID, "contract ended")
	h.Must(err)
	failing, _ := h.Partner("Buoy", profile.URLs{Webhook: "https://buoy.example/hook"})
	h.endpoint(failing.ID, time.Time{}, "no answer")
	parked, _ := h.Partner("Café Chart", profile.URLs{Webhook: "https://chart.example/hook"})
	h.endpoint(parked.ID, h.Accounts.Now(), "status 500")
	rows := func(query string) string {
		page := h.as(viewer).Get(path("/partners%s", query))
		if page.Status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", query, page.Status, page.Body)
		}
		var list []string
		for _, row := range page.All(atom.Tr)[min(1, len(page.All(atom.Tr))):] {
			list = append(list, pagetest.Words(row))
		}
		return strings.Join(list, "\n")
	}
	for _, c := range []struct{ query, want string }{
		{"", "Anchor Log|Paused|contract ended"},
		{"?state=paused", "Anchor Log"},
		{"?state=failing", "Buoy|Failing|no answer"},
		{"?state=parked", "Café Chart|Parked|status 500"},
		{"?state=no_url", "Tide Planner|No URL"},
		{"?name=CAFÉ", "Café Chart"},
		{"?name=buoy&state=failing", "Buoy"},
	} {
		got := rows(c.query)
		for _, want := range strings.Split(c.want, "|") {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s:\n%s", c.query, want, got)
			}
		}
		if n := strings.Count(got, "\n") + 1; c.query != "" && n != 1 {
			t.Errorf("%s finds %d:\n%s", c.query, n, got)
		}
	}
	for _, query := range []string{"?state=parked&name=buoy", "?state=nonsense", "?after=nonsense&name=nobody", fmt.Sprintf("?after=%s", none)} {
		if page := h.as(viewer).Get(path("/partners%s", query)); page.Status != http.StatusOK || len(page.All(atom.Tr)) != 0 {
			t.Errorf("%s: %d\n%s", query, page.Status, page.Body)
		}
	}
	if got := rows(fmt.Sprintf("?after=%d", failing.ID)); strings.Contains(got, "Anchor") || !strings.Contains(got, "Café") {
		t.Errorf("after Buoy come:\n%s", got)
	}
}

// endpoint inserts the row of a partner's failing endpoint.
func (h *harness) endpoint(partnerID int64, parkedAt time.Time, lastError string) {
	h.Helper()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(h.Context(), `INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at, last_error)
			VALUES ($1, $2, 9, $3, $4, 0, $2, $5) ON CONFLICT (partner_id) DO UPDATE SET failing_since = excluded.failing_since, parked_at = excluded.parked_at,
			last_error = excluded.last_error`, partnerID, h.Accounts.Now(), parkedAt, h.Accounts.Now().Add(time.Hour), lastError)
		return err
	}))
}

// TestPause: forms with a seen field pause and resume a partner, and the audit names the person.
func TestPause(t *testing.T) {
	h := start(t)
	at := path("/partners/%d", h.tide.ID)
	b := h.as(admin)
	first := hidden(b.Get(at+"/pause"), "seen")
	if page := b.Post(at+"/pause", "seen", first, "reason", " "); page.Status != http.StatusUnprocessableEntity && page.Status != http.StatusBadRequest {
		t.Errorf("without a reason: %d", page.Status)
	}
	h.wantPaused(false)
	if page := b.Post(at+"/pause", "seen", first, "reason", "contract ended"); page.Status != http.StatusSeeOther {
		t.Fatalf("pause: %d\n%s", page.Status, page.Body)
	}
	h.wantPaused(true)
	if page := b.Get(at); !strings.Contains(page.Text(), "Reason: contract ended") || !strings.Contains(page.Text(), "Resume…") {
		t.Errorf("the page says\n%s", page.Text())
	}
	stale := b.Post(at+"/pause", "seen", first, "reason", "another reason")
	if stale.Status != http.StatusConflict || !strings.Contains(stale.Text(), "State was “running” and is now “paused”") {
		t.Errorf("a stale form: %d\n%s", stale.Status, stale.Text())
	}
	seen := hidden(b.Get(at+"/resume"), "seen")
	if page := b.Post(at + "/resume"); page.Status != http.StatusBadRequest {
		t.Errorf("a form that does not say what it showed: %d", page.Status)
	}
	h.wantPaused(true)
	if page := b.Post(at+"/resume", "seen", seen); page.Status != http.StatusSeeOther {
		t.Fatalf("resume: %d\n%s", page.Status, page.Body)
	}
	h.wantPaused(false)
	entries, _, err := h.Audit.List(h.Context(), audit.Filter{Action: "partner.pause"}, paging.First())
	h.Must(err)
	if len(entries) != 1 || entries[0].Actor.Kind != audit.ByUser || entries[0].Actor.Session == "" {
		t.Errorf("the audit has %+v", entries)
	}
}

func (h *harness) wantPaused(want bool) {
	h.Helper()
	paused, err := partner.IsPaused(h.Context(), h.DB, h.tide.ID)
	h.Must(err)
	if paused != want {
		h.Errorf("paused is %v", paused)
	}
}
