package portal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// TestDeliveriesEmpty: an empty list links to the next step, a list without matches to the one
// without filters, and an invalid filter is named.
func TestDeliveriesEmpty(t *testing.T) {
	h := start(t)
	b := h.as(viewer)
	if page := b.Get(h.path("/deliveries")).Want(http.StatusOK, "Deliveries"); page.Links("/setup")[h.path("/setup")] == "" || !strings.Contains(page.Text(), "Nothing yet") {
		t.Errorf("at first:\n%s", page.Text())
	}
	h.sell(h.tide)
	if page := b.Get(h.path("/deliveries?state=exhausted")).Want(http.StatusOK, "Deliveries"); !strings.Contains(page.Text(), "Nothing matches") || !strings.Contains(page.Text(), "Clear filters") {
		t.Errorf("with a filter:\n%s", page.Text())
	}
	for query, says := range map[string]string{
		"state=lost": "State is not one", "code=9xx": "Status code must be", "id=x": "Event id or webhook-id must be", "range=span&from=x": "From must be a time", "event=x": "Event is not one",
	} {
		if page := b.Get(h.path("/deliveries?%s", query)); page.Status != http.StatusBadRequest || !strings.Contains(page.Text(), says) {
			t.Errorf("%s: %d\n%s", query, page.Status, page.Text())
		}
	}
}

// TestDeliveries: the list has the result of each delivery, its filters are in the URL, and no page
// shows data of another partner or of the buyer.
func TestDeliveries(t *testing.T) {
	h := start(t)
	own, foreign := h.sell(h.tide), h.sell(h.reef)
	event, attempt := eventOf(h, h.tide), attemptOf(h, h.tide)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE outbox SET attempts = 1, due_at = $2 WHERE partner_id = $1`, h.tide.ID, time.Now().Add(time.Hour))
		return nil
	}))
	b := h.as(developer)
	for path, wants := range map[string][]string{
		"/deliveries": {"Failing", "500 Internal Server Error", own.Key[28:], "1 failed", "Recover these…"},
		"/deliveries?state=failing&code=5xx&event=purchase": {"Failing", "Clear filters"},
		"/deliveries?id=evt_" + event:                       {"Failing"},
		"/deliveries?license=" + own.Key:                    {"Failing"},
		"/deliveries?license=" + foreign.Key:                {"Nothing matches"},
		"/deliveries/" + event:                              {"Event " + event, "It answered 500", "Attempt 1 of 1", "Send again…"},
		"/deliveries/" + event + "/attempts/" + attempt:     {"Attempt 1 of 1", "not measured"},
		"/deliveries/" + event + "/send":                    {"Send event " + event + " again", "takes the place", "/v2/events/" + event + "/redeliver"},
		"/recover?state=failed":                             {"1 failed event ", "50 a second"},
		"/licenses?key=" + own.Key[30:]:                     {own.Key, "Inactive"},
		"/licenses?tier=3":                                  {"Nothing matches"},
		"/licenses/" + own.Key:                              {"Why it is in this state", "It was purchased and is paid for", "Delivery of event " + event, "500 Internal Server Error"},
	} {
		page := b.Get(h.path("%s", path))
		for _, want := range wants {
			if page.Status != http.StatusOK || !strings.Contains(page.Body, strings.ReplaceAll(want, "'", "&#39;")) && !strings.Contains(page.Text(), want) {
				t.Errorf("%s (%d) does not say %q:\n%s", path, page.Status, want, page.Text())
			}
		}
		if strings.Contains(page.Body, buyer) {
			t.Errorf("%s shows the address of a buyer", path)
		}
		if strings.Contains(strings.ReplaceAll(page.Body, foreign.Key, "typed"), foreign.Key[28:]) && !strings.Contains(path, foreign.Key) {
			t.Errorf("%s shows a license of another partner", path)
		}
	}
}

// TestSendAgain: a developer resends an event, and it is marked with their name; a viewer has no
// such button.
func TestSendAgain(t *testing.T) {
	h := start(t)
	h.sell(h.tide)
	event := eventOf(h, h.tide)
	if page := h.as(viewer).Get(h.path("/deliveries/%s", event)).Want(http.StatusOK, "Event "+event+": purchase Waiting"); strings.Contains(page.Body, "/send") {
		t.Error("a viewer is offered to send it")
	}
	b := h.as(developer)
	page := b.Get(h.path("/deliveries/%s/send", event)).Want(http.StatusOK, "Send event "+event+" again")
	b.Press(page, "Send it again").WantRedirect(h.path("/deliveries/%s", event))
	if text := b.Get(h.path("/deliveries/%s", event)).Text(); !strings.Contains(text, "had it sent by hand") {
		t.Errorf("the delivery says:\n%s", text)
	}
	entry := func(action string) int64 {
		n, err := sqldb.One(t.Context(), h.DB, sqldb.Value[int64], `SELECT count(*) FROM audit_entries WHERE action = $1 AND actor_kind = 'user' AND actor_id = $2`,
			action, h.User(developer).ID)
		h.Must(err)
		return n
	}
	if entry("event.redeliver") != 1 {
		t.Error("the audit does not name the person")
	}
}

// TestRedelivery: a developer starts a filtered redelivery, pauses, resumes and cancels it; later
// visits show its progress.
func TestRedelivery(t *testing.T) {
	h := start(t)
	for range 5 {
		h.sell(h.tide)
	}
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE outbox SET state = 3, attempts = 9 WHERE partner_id = $1`, h.tide.ID)
		return nil
	}))
	b := h.as(developer)
	page := b.Get(h.path("/recover?state=exhausted&rate=1")).Want(http.StatusOK, "Recover")
	if !strings.Contains(page.Text(), "5 exhausted events") || !strings.Contains(page.Text(), "about 5 seconds") {
		t.Errorf("the preview says:\n%s", page.Text())
	}
	job := b.Follow(b.Press(page, "Send them again")).Want(http.StatusOK, "Recovery 1")
	if !strings.Contains(job.Text(), "Sent 1 of 5 events") {
		t.Errorf("its progress is:\n%s", job.Text())
	}
	if again := b.Press(page, "Send them again"); again.Status != http.StatusConflict || !strings.Contains(again.Text(), "Recovery 1 is running") {
		t.Errorf("a second one: %d\n%s", again.Status, again.Text())
	}
	paused := b.Follow(b.Press(job, "Pause")).Want(http.StatusOK, "Recovery 1")
	if !strings.Contains(paused.Text(), "Paused") {
		t.Errorf("paused:\n%s", paused.Text())
	}
	if text := h.as(viewer).Get(h.path("/recover/1")).Want(http.StatusOK, "Recovery 1").Text(); !strings.Contains(text, "Paused") || strings.Contains(text, "Resume") {
		t.Errorf("a viewer sees:\n%s", text)
	}
	b.Follow(b.Press(paused, "Resume"))
	ask := b.Get(h.path("/recover/1/cancel")).Want(http.StatusOK, "Cancel recovery 1")
	if ended := b.Follow(b.Press(ask, "Cancel the recovery")).Want(http.StatusOK, "Recovery 1"); !strings.Contains(ended.Text(), "It was cancelled.") {
		t.Errorf("cancelled:\n%s", ended.Text())
	}
}

// TestRedeliveryOfAFormerMember: the job of a person who loses the role stops.
func TestRedeliveryOfAFormerMember(t *testing.T) {
	h := start(t)
	for range 3 {
		h.sell(h.tide)
	}
	b := h.as(developer)
	b.Press(b.Get(h.path("/recover?range=all&rate=1")), "Send them again").WantRedirect(h.path("/recover/1"))
	_, err := h.Partners.AddMember(t.Context(), tester, h.tide.ID, h.User(developer).ID, partner.Viewer)
	h.Must(err)
	b.SignIn(developer, password)
	for text := ""; !strings.Contains(text, "their role is viewer"); { // the job checks the role in its next batch
		text = fmt.Sprint(b.Get(h.path("/recover/1")).Text())
	}
}
