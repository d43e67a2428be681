package portal_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestSettings: each form saves its setting; a stale form changes nothing and lists the
// differences.
func TestSettings(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	value := pagetest.Attr(boss.Get(h.path("/settings")).Want(http.StatusOK, "Settings").Input("was"), "value")
	save := func(pairs ...string) int {
		t.Helper()
		return boss.Post(h.path("/settings"), append([]string{"was", value}, pairs...)...).Status
	}
	if got := h.as(developer).Get(h.path("/settings")); got.Input("brand") != nil || !strings.Contains(got.Text(), "RS256") {
		t.Error("a developer is not shown the settings, or may change them")
	}
	if status := save("brand", "Tide & Co"); status != http.StatusUnprocessableEntity {
		t.Errorf("a brand that no header can have: %d", status)
	}
	if status := save("brand", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("no brand: %d", status)
	}
	if status := save("brand", "Tide"); status != http.StatusSeeOther {
		t.Errorf("a brand: %d", status)
	}
	late := boss.Post(h.path("/settings"), "was", value, "strict", "true")
	if late.Status != http.StatusConflict || !strings.Contains(late.Text(), "the brand was Licensing and is Tide") {
		t.Errorf("on an old page: %d\n%s", late.Status, late.Text())
	}
	boss.Post(h.path("/settings"), "was", "x", "strict", "true").Want(http.StatusBadRequest, "Settings")
	for _, pair := range [][2]string{{"strict", "true"}, {"id_token_alg", "ES256"}, {"error_member", "false"}, {"initiate_login_uri", "http://127.0.0.1/login"}} {
		value = pagetest.Attr(boss.Get(h.path("/settings")).Input("was"), "value")
		if status := save(pair[0], pair[1]); status != http.StatusSeeOther {
			t.Errorf("%s: %d", pair[0], status)
		}
	}
	p, err := h.Partners.Get(t.Context(), h.tide.ID)
	h.Must(err)
	f, _, err := h.Profiles.Get(t.Context(), h.tide.ID)
	h.Must(err)
	want := profile.Settings{Brand: "Tide", Strict: true, IDTokenAlg: "ES256", InitiateLoginURI: "http://127.0.0.1/login"}
	if got := profile.SettingsOf(p, f); got != want {
		t.Errorf("saved %+v", got)
	}
}

// TestSingleKey: the change shows the new secrets once; sending the form again creates no others.
func TestSingleKey(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	ask := boss.Get(h.path("/settings/single-key")).Want(http.StatusOK, "Use a single key")
	single := wantSecret(t, boss.Press(ask, "Use a single key", "overlap_s", "0"), apiKey)
	if !h.opens(single) {
		t.Error("the single key does not work")
	}
	if again := boss.Press(ask, "Use a single key", "overlap_s", "0"); again.Status != http.StatusConflict || anySecret.MatchString(again.Body) || !h.opens(single) ||
		!strings.Contains(again.Text(), "If you reloaded the page") {
		t.Errorf("sent again: %d\n%s", again.Status, again.Text())
	}
	if page := boss.Get(h.path("/credentials")).Text(); !strings.Contains(page, "It signs your webhooks, too.") || !strings.Contains(page, "you chose a single key") {
		t.Errorf("the page says:\n%s", page)
	}
	two := boss.Press(boss.Get(h.path("/settings/single-key")), "Use two secrets", "overlap_s", "3600").Want(http.StatusOK, "Your new secrets")
	if len(anySecret.FindAllString(two.Body, -1)) < 2 || !strings.Contains(two.Body, "whsec_") || !h.opens(single) {
		t.Errorf("the page says:\n%s", two.Text())
	}
}

// TestContacts: an admin adds, tests and removes contacts, and the audit names the person.
func TestContacts(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	page := boss.Get(h.path("/contacts")).Want(http.StatusOK, "Contacts")
	boss.Press(page, "Add the contact", "name", "Ops", "email", "ops").Want(http.StatusUnprocessableEntity, "Contacts")
	page = boss.Follow(boss.Press(page, "Add the contact", "name", "Ops", "email", "ops@tide.example"))
	boss.Press(page, "Add the contact", "name", "Ops", "email", "OPS@tide.example").Want(http.StatusConflict, "Contacts")
	ask := boss.Get(rowLink(t, page, "Send a test mail to Ops")).Want(http.StatusOK, "Send Ops a test mail")
	sent := boss.Follow(boss.Press(ask, "Send it")).Want(http.StatusOK, "Contacts")
	if !strings.Contains(sent.Text(), "A test mail is on its way to ops@tide.example") {
		t.Errorf("the page says:\n%s", sent.Text())
	}
	if mails := h.Mails("ops@tide.example"); len(mails) != 1 || mails[0].Subject != "Tide Planner: this is a test" {
		t.Errorf("mailed %+v", mails)
	}
	remove := boss.Get(rowLink(t, page, "Remove Ops")).Want(http.StatusOK, "Remove Ops from the contacts")
	boss.Follow(boss.Press(remove, "Remove")).Want(http.StatusOK, "Contacts")
	boss.Press(remove, "Remove").Want(http.StatusNotFound, "Page not found")
	if got := h.as(developer).Get(h.path("/contacts")); got.Input("email") != nil {
		t.Error("a developer may add contacts")
	}
	history := boss.Get(h.path("/audit")).Text()
	for _, want := range []string{"Added a contact.", "Sent a test mail to a contact.", "Removed a contact.", admin} {
		if !strings.Contains(history, want) {
			t.Errorf("the audit lacks %q:\n%s", want, history)
		}
	}
}

// TestAudit: the marketplace's people and programs share one name, and neither their notes nor a
// buyer is shown; each page continues where the last one ended.
func TestAudit(t *testing.T) {
	h := start(t)
	boss := h.User("boss@market.example")
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := account.SetRole(t.Context(), tx, apptest.Tester, boss.ID, account.RoleAdmin, h.Accounts.Now()); err != nil {
			return err
		}
		now := h.Accounts.Now()
		audit.Record(tx, now, audit.Actor{Kind: audit.ByToken, ID: 1, Name: "billing token"}, "partner.pause", "partner:1", nil, audit.Facts{"reason": "they owe us"})
		audit.Record(tx, now, audit.Actor{Kind: audit.ByUser, ID: boss.ID}, "partner.resume", "partner:1", nil, nil)
		audit.Record(tx, now, audit.Actor{Kind: audit.ByPartner, ID: h.tide.ID, Name: "Tide Planner"}, "contact.create", "partner:1", nil, nil)
		for range 60 {
			audit.Record(tx, now, audit.System("job"), "partner.redeliver", "partner:1", nil, nil)
		}
		return nil
	}))
	h.sell(h.tide)
	b := h.as(viewer)
	first := b.Get(h.path("/audit")).Want(http.StatusOK, "Audit")
	second := b.Get(rowLink(t, first, "Older")).Want(http.StatusOK, "Audit")
	text := first.Text() + second.Text()
	for _, want := range []string{"The marketplace", "Paused this application", "Resumed this application.", "A program with your API key"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	for _, never := range []string{"billing token", "they owe us", "boss@market.example", buyer} {
		if strings.Contains(text, never) {
			t.Errorf("it shows %q", never)
		}
	}
	if strings.Contains(second.Body, ">Older<") || rowLink(t, second, "Newest") != h.path("/audit") {
		t.Error("the second page is not the last, or does not lead to the first")
	}
	b.Get(h.path("/audit?before=x")).Want(http.StatusOK, "Audit")
	b.Get(h.path("/audit?before=1")).Want(http.StatusOK, "Audit")
}
