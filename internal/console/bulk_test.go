package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/bulk"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// chooseAll follows the link of a list to an act on all its rows, and sends the form. It returns
// the page of the job.
func (h *harness) chooseAll(who, list, label string, fields ...string) (*pagetest.Page, string) {
	h.Helper()
	b := h.as(who)
	page := b.Get(list)
	to := ""
	for at, text := range page.Links("/bulk/") {
		if strings.HasPrefix(text, label) {
			to = at
		}
	}
	if to == "" {
		h.Fatalf("%s has no link %s:\n%s", list, label, page.Text())
	}
	ask := b.Get(to)
	wants(h, ask, http.StatusOK, "Nothing is done before you confirm", "POST", "/operator/v1/bulk")
	answer := b.Post(to, fields...)
	at := answer.Header.Get("Location")
	if answer.Status != http.StatusSeeOther {
		h.Fatalf("%s: %d %s", to, answer.Status, answer.Text())
	}
	return b.Get(at), at
}

// TestBulkHold: all rows of a filtered list are held after a preview that shows the skipped ones.
// Rows that changed in the meantime are refused. Each has an audit entry with the person.
func TestBulkHold(t *testing.T) {
	h := start(t)
	var keys []string
	for range 3 {
		keys = append(keys, h.sold().Licenses[0].Key)
	}
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, keys[0], license.HoldOther)
	h.Must(err)
	page, at := h.chooseAll(support, path("/licenses?partner_id=%d", h.tide.ID), "Hold", "reason", "chargeback")
	wants(t, page, http.StatusOK, "Hold licenses", "Of 3 rows, 2 can be done and 1 will be skipped.", "Partner's number: 1", "becomes deactivated", "reason chargeback", "on hold already", "Hold 2 licenses", "Prepared")
	wants(t, h.as(viewer).Get(at), http.StatusOK, "To confirm it takes a role with the scope support.")
	wantsNone(t, h.as(viewer).Get(at), "Hold 2 licenses")
	_, err = h.Licenses.ChangePlan(t.Context(), apptest.Tester, keys[1], license.PlanChange{Tier: 2, Currency: "USD"})
	h.Must(err)
	if held := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); held != 1 {
		t.Errorf("%d are held before the confirmation", held)
	}
	if answer := h.as(support).Press(page, "Hold 2 licenses"); answer.Status != http.StatusSeeOther || answer.Header.Get("Location") != at {
		t.Fatalf("confirmed: %d %s", answer.Status, answer.Text())
	}
	h.waitFor(viewer, at, "Ended") // a moment after its last row
	done := h.waitFor(viewer, at, "Done 1 of 2 rows, 1 refused, 1 skipped.")
	wants(t, done, http.StatusOK, "by "+support, "The license has changed since this was shown", "What was confirmed", "2 × The license becomes deactivated")
	wants(t, h.as(viewer).Get(at+"?result=refused"), http.StatusOK, keys[1])
	wantsNone(t, h.as(viewer).Get(at+"?result=refused"), keys[2])
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'license.hold' AND actor_kind = 'user' AND actor_id = $1 AND session <> ''`, h.User(support).ID); n != 1 {
		t.Errorf("%d audit entries with the person", n)
	}
	// The same form again, and acts on a finished job.
	id := at[strings.LastIndex(at, "/")+1:]
	wants(t, h.as(support).Post(path("/bulk/hold/%s/cancel", id)), http.StatusConflict, "nothing of it is left to cancel")
	wants(t, h.as(admin).Post(path("/bulk/pause/%s/cancel", id)), http.StatusNotFound)
	for _, do := range []string{"start", "pause", "resume", "cancel", "nonsense", ""} {
		if again := h.as(support).Post(path("/bulk/hold/%s", id), "do", do); again.Status < 400 || again.Status >= 500 || again.Status == http.StatusNotFound {
			t.Errorf("%q when it is done: %d", do, again.Status)
		}
		if wrong := h.as(admin).Post(path("/bulk/pause/%s", id), "do", do); wrong.Status != http.StatusNotFound {
			t.Errorf("%q as another act: %d", do, wrong.Status)
		}
	}
	wants(t, h.as(viewer).Get(path("/bulk")), http.StatusOK, "Hold licenses", support, "Partner's number: 1")
}

// TestBulkLeaveOut: people with the role take rows out of a prepared act and put them back. A stale
// confirmation is refused and lists the changes.
func TestBulkLeaveOut(t *testing.T) {
	h := start(t)
	for range 3 {
		h.sold()
	}
	before, at := h.chooseAll(support, path("/licenses?partner_id=%d", h.tide.ID), "Hold", "reason", "held")
	wants(t, before, http.StatusOK, "Hold 3 licenses", "Leave out the ticked rows", "/leave-out")
	wantsNone(t, before, "Put the ticked rows back")
	if strings.Contains(before.Body, "<progress") || strings.Count(before.Body, `type="checkbox"`) != 3 {
		t.Errorf("a bar of what is not begun, or rows without a box:\n%s", before.Body)
	}
	if page := h.as(viewer).Get(at); strings.Contains(page.Body, `type="checkbox"`) || strings.Contains(page.Text(), "Leave out") {
		t.Error("a viewer is offered rows to leave out")
	}
	act := strings.Replace(at, "/bulk/", "/bulk/hold/", 1)
	for _, bad := range [][]string{{"do", "leave_out"}, {"do", "leave_out", "position", "x"}, {"do", "put_back", "position", "-1"}} {
		if answer := h.as(support).Post(act, bad...); answer.Status != http.StatusBadRequest && answer.Status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d", bad, answer.Status)
		}
	}
	answer := h.as(support).Post(act+"?result=open&after=0", "do", "leave_out", "position", "1", "position", "3")
	if to := answer.Header.Get("Location"); answer.Status != http.StatusSeeOther || to != at+"?after=0&result=open" {
		t.Errorf("left out: %d, to %s", answer.Status, to)
	}
	wants(t, h.as(support).Get(at), http.StatusOK, "Hold 1 license", "2 will be skipped", "A person left it out before the act began.", "Put the ticked rows back")
	stale := h.as(support).Press(before, "Hold 3 licenses")
	wants(t, stale, http.StatusConflict, "The number of rows to do was “3” and is now “1”.", at[len("/console"):]+"/start")
	wantsNone(t, stale, "/cancel")
	for do, call := range map[string]string{"pause": "/pause", "resume": "/resume", "leave_out": "/leave-out", "put_back": "/put-back"} {
		refused := h.as(support).Post(act, "do", do)
		wants(t, refused, refused.Status, at[len("/console"):]+call)
		wantsNone(t, refused, "/cancel")
	}
	wantsNone(t, h.as(support).Post(act, "do", "nonsense"), "/cancel", "curl")
	h.as(support).Post(act, "do", "put_back", "position", "3")
	h.as(support).Press(h.as(support).Get(at), "Hold 2 licenses")
	wants(t, h.waitFor(viewer, at, "Done 2 of 2 rows, 0 refused, 1 skipped."), http.StatusOK, "A person left it out")
	if held := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); held != 2 {
		t.Errorf("%d are held", held)
	}
}

// TestBulkUnconfirmed: an act that was cancelled before its confirmation does not claim one.
func TestBulkUnconfirmed(t *testing.T) {
	h := start(t)
	h.sold()
	_, at := h.chooseAll(support, path("/licenses?partner_id=%d", h.tide.ID), "Hold", "reason", "held")
	ask := h.as(support).Get(strings.Replace(at, "/bulk/", "/bulk/hold/", 1) + "/cancel")
	wants(t, ask, http.StatusOK, "Cancel it Keep it")
	h.as(support).Press(ask, "Cancel it").WantRedirect(at)
	page := h.as(support).Get(at)
	wants(t, page, http.StatusOK, "Nobody confirmed it, so nothing was done.", "What would have happened", "1 × The license becomes deactivated")
	wantsNone(t, page, "What was confirmed", "can be done")
}

// TestBulkActs: each list links to its acts, for people with the role.
func TestBulkActs(t *testing.T) {
	h := start(t)
	h.sold()
	for _, c := range []struct{ who, list, want string }{
		{viewer, "/licenses", ""},
		{support, "/licenses", "hold reinstate"},
		{sales, "/licenses", "refund reverse"},
		{admin, "/licenses", "hold refund reinstate reverse"},
		{support, "/purchases", ""},
		{sales, "/purchases", "refund reverse"},
		{viewer, "/deliveries", ""},
		{support, "/deliveries", "redeliver"},
		{support, "/partners", ""},
		{admin, "/partners", "pause resume"},
	} {
		found := h.as(c.who).Get(path("%s", c.list)).Links(path("/bulk/"))
		for _, act := range bulk.Acts {
			has := false
			for at := range found {
				has = has || strings.HasPrefix(at, path("/bulk/%s", act))
			}
			if want := strings.Contains(" "+c.want+" ", " "+string(act)+" "); has != want {
				t.Errorf("%s of %s leads to %s: %v", c.list, c.who, act, has)
			}
		}
	}
	page, at := h.chooseAll(sales, path("/purchases?external_id=%s", h.sold().ExternalID), "Refund")
	wants(t, page, http.StatusOK, "Refund purchases", "Refund 1 purchase", "becomes deactivated")
	h.as(sales).Press(page, "Refund 1 purchase")
	h.waitFor(sales, at, "Done 1 of 1 row")
	page, at = h.chooseAll(sales, path("/licenses?partner_id=%d", h.tide.ID), "Reverse")
	wants(t, page, http.StatusOK, "Reverse 1 refund", "reason refund_reversed")
	h.as(sales).Press(page, "Reverse 1 refund")
	h.waitFor(sales, at, "Done 1 of 1 row")
	page, at = h.chooseAll(admin, path("/partners?name=tide&state=no_url"), "Pause", "reason", "an investigation")
	wants(t, page, http.StatusOK, "Pause 1 partner", "its events wait")
	h.as(admin).Press(page, "Pause 1 partner")
	h.waitFor(admin, at, "Done 1 of 1 row")
	page, at = h.chooseAll(admin, path("/partners?state=paused"), "Resume")
	h.as(admin).Press(page, "Resume 1 partner")
	h.waitFor(admin, at, "Done 1 of 1 row")
}

// TestBulkRefusals: wrong filters, no matches and reasons that no row can have are refused with a
// message, and nothing is prepared.
func TestBulkRefusals(t *testing.T) {
	h := start(t)
	h.sold()
	for at, want := range map[string]string{
		"/bulk/hold?partner_id=x": "whole number", "/bulk/hold?license_status=odd": "not one of the list", "/bulk/redeliver?state=odd": "not one of the list",
		"/bulk/refund?of=purchases&partner_id=-1": "whole number", "/bulk/pause?state=odd": "not one of the list",
	} {
		wants(t, h.as(admin).Get(path("%s", at)), http.StatusBadRequest, want)
		wants(t, h.as(admin).Post(path("%s", at), "reason", "held"), http.StatusBadRequest, want)
	}
	// Ignoring an unknown filter would select more than intended.
	for _, at := range []string{"/bulk/hold?state=active", "/bulk/refund?of=purchases&license_key=x", "/bulk/redeliver?license_status=active", "/bulk/pause?partner_id=1"} {
		wants(t, h.as(admin).Get(path("%s", at)), http.StatusBadRequest, "is not a filter of this list", "Go back")
		wants(t, h.as(admin).Post(path("%s", at), "reason", "held"), http.StatusBadRequest, "is not a filter of this list")
	}
	for _, at := range []string{"/bulk/hold?email=nobody@example.com", "/bulk/refund?of=purchases&external_id=none", "/bulk/redeliver?state=exhausted", "/bulk/pause?name=none", "/bulk/reverse"} {
		wants(t, h.as(admin).Post(path("%s", at), "reason", "held"), http.StatusConflict, "Nothing matches these filters")
	}
	wants(t, h.as(admin).Post(path("/bulk/hold"), "reason", "dislike"), http.StatusUnprocessableEntity, "")
	wants(t, h.as(admin).Post(path("/bulk/pause"), "reason", ""), http.StatusUnprocessableEntity, "")
	for _, at := range []string{"/bulk/hold?of=partners", "/bulk/hold?of=purchases", "/bulk/pause?of=nonsense"} {
		if page := h.as(admin).Post(path("%s", at), "reason", "held"); page.Status < 400 || page.Status >= 500 {
			t.Errorf("%s: %d", at, page.Status)
		}
	}
	if n := h.Count(`SELECT count(*) FROM bulk_jobs`); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

// TestBulkRole: people whose role was removed cannot confirm, and a job that they confirmed ends
// before the next batch.
func TestBulkRole(t *testing.T) {
	h := start(t)
	h.sold()
	page, at := h.chooseAll(support, path("/licenses?partner_id=%d", h.tide.ID), "Hold", "reason", "held")
	person := h.User(support)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, apptest.Tester, person.ID, account.RoleViewer, h.Accounts.Now())
		return err
	}))
	if answer := h.as(support).Press(page, "Hold 1 license"); answer.Status != http.StatusSeeOther {
		t.Errorf("confirmed with the session of the old role: %d", answer.Status)
	}
	h.as(support).SignIn(support, password)
	if answer := h.as(support).Press(page, "Hold 1 license"); answer.Status != http.StatusNotFound {
		t.Errorf("confirmed without the role: %d", answer.Status)
	}
	var id int64
	_, err := fmt.Sscanf(at, "/console/bulk/%d", &id)
	h.Must(err)
	_, err = h.Bulk.Start(t.Context(), h.actor(support), id)
	h.Must(err)
	h.waitFor(viewer, at, "The person who confirmed it has lost the right to do this.")
	if n := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); n != 0 {
		t.Errorf("%d are held", n)
	}
}

// TestBulkFromAnyList: the acts of a list work with every parameter of its URL, also those that are
// no filters (the page, live updates off).
func TestBulkFromAnyList(t *testing.T) {
	h := start(t)
	h.sold()
	for _, list := range []string{
		path("/deliveries?live=off&range=all&partner=%d&before=x", h.tide.ID), path("/licenses?partner_id=%d&before=99", h.tide.ID),
		"/console/purchases?from=2020-01-01T00:00:00Z&before=99", "/console/partners?name=t",
	} {
		page := h.as(admin).Get(list)
		links := regexp.MustCompile(`href="(/console/bulk/[^"]+)"`).FindAllStringSubmatch(page.Body, -1)
		if len(links) == 0 {
			t.Errorf("%s leads to no act", list)
		}
		for _, link := range links {
			if to := h.as(admin).Get(html.UnescapeString(link[1])); to.Status != http.StatusOK || strings.Contains(to.Text(), "not a filter") {
				t.Errorf("%s leads to %s, which is answered %d: %s", list, link[1], to.Status, to.Text())
			}
		}
	}
}
