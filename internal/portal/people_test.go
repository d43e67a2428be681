package portal_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/area/areatest"
	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/portal"
	"claviger/internal/redelivery"
)

// call gives a user a name.
func (h *harness) call(u account.User, name string) {
	h.Helper()
	h.Exec(`UPDATE users SET name = $2 WHERE id = $1`, u.ID, name)
}

// attempted records an attempt of every manual send.
func (h *harness) attempted() {
	h.Helper()
	h.Exec(`INSERT INTO webhook_responses
		(event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at, generation)
		SELECT event_id, 'webhook-id: evt_1', 500, 'no', 3, 'https://tide.example/hook', $1, generation, generation, generation FROM manual_sends`, false)
}

// operatorsAct makes operators do things that partners see: a manual send, a redelivery, acts in the
// console and in a support visit. It returns an event that each of them sent.
func (h *harness) operatorsAct() (event int64) {
	h.Helper()
	olga, sue := h.operator(operator, account.RoleAdmin), h.operator(supporter, account.RoleAdmin)
	h.call(olga, "Olga Operator")
	h.call(sue, "Sue Support")
	h.sell(h.tide)
	event, err := strconv.ParseInt(eventOf(h, h.tide), 10, 64)
	h.Must(err)
	byOlga := audit.Actor{Kind: audit.ByUser, ID: olga.ID}
	h.Must(h.Webhooks.Redeliver(h.Context(), byOlga, h.tide.ID, event))
	j, err := h.Redeliveries.Begin(h.Context(), byOlga, redelivery.Request{PartnerID: h.tide.ID, Rate: 1})
	h.Must(err)
	if j.Open() {
		_, err = h.Redeliveries.Cancel(h.Context(), byOlga, h.tide.ID, j.ID)
		h.Must(err)
	}
	h.enter(supporter, true)
	if page := h.as(supporter).Post(h.path("/recover"), "rate", "1"); page.Status != http.StatusSeeOther {
		h.Fatalf("a recovery by support: %d\n%s", page.Status, page.Text())
	}
	if page := h.as(supporter).Post(h.path("/deliveries/%d/send", event)); page.Status != http.StatusSeeOther {
		h.Fatalf("a send by support: %d\n%s", page.Status, page.Text())
	}
	h.Exec(`INSERT INTO scenario_runs (partner_id, scenario, state, verdict, note, steps, done, url, actor_kind, actor_id, last_event, started_at, ended_at, until)
		VALUES ($1, 'all', 'ended', 'passed', '', 1, 1, '', 'user', $2, 0, 1, 2, 3)`, h.tide.ID, sue.ID)
	h.attempted()
	return event
}

// wantNoOperator checks that a text names no one of the marketplace.
func wantNoOperator(t testing.TB, what, text string) {
	t.Helper()
	for _, name := range []string{"Olga", "Operator", "Sue Support", operator, supporter} {
		if at := strings.Index(text, name); at >= 0 {
			t.Errorf("%s has %q: …%s…", what, name, text[max(0, at-100):min(len(text), at+100)])
		}
	}
}

// TestOperatorsAreNotNamed: no page of the portal, no stream, no export and no answer of the
// partner's API has the name or address of an operator, for any act.
func TestOperatorsAreNotNamed(t *testing.T) {
	h := start(t)
	event := h.operatorsAct()
	jobs, err := h.Redeliveries.List(t.Context(), h.tide.ID, 0, 9)
	h.Must(err)
	d, err := h.History.Delivery(t.Context(), h.tide.ID, event)
	h.Must(err)
	pages, calls := []string{fmt.Sprintf("/deliveries/%d", event), "/licenses/" + d.LicenseKey, "/recover"}, []string{fmt.Sprintf("/deliveries/%d", event), "/audit", "/redeliveries"}
	for _, j := range jobs {
		pages = append(pages, fmt.Sprintf("/recover/%d", j.ID))
		calls = append(calls, fmt.Sprintf("/redeliveries/%d", j.ID))
	}
	if len(d.Tries) < 3 {
		t.Fatalf("%d attempts", len(d.Tries))
	}
	for _, try := range d.Tries {
		at := fmt.Sprintf("/deliveries/%d/attempts/%d", event, try.ID)
		pages, calls = append(pages, at), append(calls, at)
	}
	for _, path := range pages {
		page := h.as(admin).Get(h.path("%s", path))
		wantNoOperator(t, path, page.Body)
		if page.Status != http.StatusOK || !strings.Contains(page.Text(), "The marketplace") {
			t.Errorf("%s (%d) does not say who it was:\n%s", path, page.Status, page.Text())
		}
	}
	if page := h.as(admin).Get(h.path("/simulator")).Text(); strings.Contains(page, "A member") {
		t.Errorf("support is taken for a member:\n%s", page)
	}
	key, err := h.Partners.Rotate(t.Context(), apptest.Tester, h.tide.ID, partner.APIKey, 0)
	h.Must(err)
	for _, path := range calls {
		got := apptest.Send(t, http.DefaultClient, http.MethodGet, h.App.URL()+"/v2"+path, "", "Authorization: Bearer "+key.Value)
		wantNoOperator(t, "/v2"+path, got.Body)
		if got.Status != http.StatusOK || strings.Contains(got.Body, `"user_id"`) {
			t.Errorf("/v2%s: %d %s", path, got.Status, got.Body)
		}
	}
	open := h.follow(h.as(admin), h.as(admin).Get(h.path("/deliveries/%d", event)))
	h.Must(h.Webhooks.Redeliver(t.Context(), d.Tries[0].Manual.By, h.tide.ID, event))
	wantNoOperator(t, "a stream", open.next())
	for _, list := range []string{"/deliveries", "/audit", "/licenses"} {
		_, file := h.exported(list)
		wantNoOperator(t, "an export of "+list, file)
	}
	for _, rt := range table() {
		if rt.Kind == portal.Page {
			to := h.at(rt, h.tide.ID, h.tide)
			wantNoOperator(t, to.Path, areatest.Send(h.as(admin), to, "same-origin").Body)
		}
	}
}

// TestMembersAreNamed: members of the team are shown by name; people who left it, and were no
// operators, are not.
func TestMembersAreNamed(t *testing.T) {
	h := start(t)
	h.sell(h.tide)
	event, err := strconv.ParseInt(eventOf(h, h.tide), 10, 64)
	h.Must(err)
	dora := h.member(h.tide, "dora@tide.example", partner.Developer)
	h.call(dora, "Dora Developer")
	h.Must(h.Webhooks.Redeliver(t.Context(), audit.Actor{Kind: audit.ByUser, ID: dora.ID, ActingFor: h.tide.ID}, h.tide.ID, event))
	h.attempted()
	wantsIn(h, h.as(viewer).Get(h.path("/deliveries/%d", event)), "Dora Developer sent it by hand")
	h.Must(h.Partners.RemoveMember(t.Context(), apptest.Tester, h.tide.ID, dora.ID))
	wantsIn(h, h.as(viewer).Get(h.path("/deliveries/%d", event)), "Somebody who has left sent it by hand")
}

// TestNamesAreReadInOnePlace: only the file that decides which people a partner may know reads the
// names of accounts.
func TestNamesAreReadInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"Accounts.Names(", "Accounts.Users(", "Accounts.Get("} {
			if strings.Contains(string(text), call) && file != "people.go" && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s calls %s…)", file, call)
			}
		}
	}
}
