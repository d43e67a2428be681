package profile_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon     = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	operator = audit.Actor{Kind: audit.ByToken, ID: 1, Name: "tests"}
	itself   = audit.Actor{Kind: audit.ByPartner, ID: 1, Name: "Acme"}
)

// harness is a book on an empty database with a clock that the test sets, and a fake server of the
// partner.
type harness struct {
	*profile.Store
	now   time.Time
	app   string // the partner's server
	calls atomic.Int64
}

func open(t *testing.T, o courier.Options) *harness {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	d := &harness{now: noon}
	s := httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(s.Close)
	d.app = s.URL
	client := courier.New(o)
	t.Cleanup(client.Close)
	db, now := sqldbtest.Open(t), func() time.Time { return d.now }
	d.Store = &profile.Store{
		DB: db, Now: now, Check: profile.Checker{Client: client},
		Partners: &partner.Store{DB: db, Sealer: box, Now: now},
	}
	return d
}

// serve answers according to the path.
func (d *harness) serve(w http.ResponseWriter, r *http.Request) {
	d.calls.Add(1)
	switch {
	case strings.HasPrefix(r.URL.Path, "/ok"):
	case strings.HasPrefix(r.URL.Path, "/moved"):
		http.Redirect(w, r, "/ok", http.StatusFound)
	case strings.HasPrefix(r.URL.Path, "/created"):
		w.WriteHeader(http.StatusCreated)
	default:
		http.NotFound(w, r)
	}
}

// private has a client that may call the partner's server on this machine.
var private = courier.Options{AllowPrivate: true}

func (d *harness) enrol(t *testing.T, urls profile.URLs) (partner.Partner, profile.Profile) {
	t.Helper()
	p, pr, _, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"}, urls, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	return p, pr
}

func (d *harness) get(t *testing.T, id int64) (profile.Profile, []profile.Contact) {
	t.Helper()
	p, contacts, err := d.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p, contacts
}

// actions returns the audited actions, oldest first.
func (d *harness) actions(t *testing.T) []string {
	t.Helper()
	l := audit.Log{DB: d.DB}
	list, _, err := l.List(t.Context(), audit.Filter{}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Action)
	}
	return names
}

// ignoreDetails leaves out the parts of a transcript that only repeat requests and answers.
var ignoreDetails = cmpopts.IgnoreFields(profile.Check{}, "Likely", "Sent", "Signed", "Answer")

func text(s string) *string { return &s }

func TestEnrol(t *testing.T) {
	d := open(t, private)
	p, got, keys, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"},
		profile.URLs{Webhook: "https://acme.example/hook", Redirect: "https://acme.example/cb?x=1"}, false, partner.Credentials{APIKey: "lk_given"})
	if err != nil || keys.APIKey != "lk_given" || keys.ClientSecret == "" {
		t.Fatalf("Enrol: %+v, %v", keys, err)
	}
	want := profile.Profile{
		PartnerID: p.ID, WebhookURL: "https://acme.example/hook", RedirectURL: "https://acme.example/cb?x=1",
		RedirectEpoch: 1, CreatedAt: noon, UpdatedAt: noon, IDTokenAlg: profile.RS256,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("enrolled (-want +got):\n%s", diff)
	}
	if stored, contacts := d.get(t, p.ID); stored != want || len(contacts) != 0 {
		t.Errorf("Get = %+v, %v; want %+v", stored, contacts, want)
	}
	if _, empty := d.enrol(t, profile.URLs{}); empty.WebhookURL != "" || empty.RedirectURL != "" || empty.RedirectEpoch != 0 {
		t.Errorf("without URLs: %+v", empty)
	}
	if diff := cmp.Diff([]string{"partner.create", "profile.urls", "partner.create"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if d.calls.Load() != 0 {
		t.Error("a URL was called though nobody asked for the check")
	}
}

func TestEnrolRefuses(t *testing.T) {
	d := open(t, private)
	for name, c := range map[string]struct {
		draft    partner.Draft
		urls     profile.URLs
		validate bool
		code     string
		field    string
	}{
		"no name":       {partner.Draft{}, profile.URLs{Webhook: d.app + "/ok"}, true, "invalid_field", "name"},
		"bad webhook":   {partner.Draft{Name: "a"}, profile.URLs{Webhook: "hook"}, false, "invalid_url", "webhook_url"},
		"bad redirect":  {partner.Draft{Name: "a"}, profile.URLs{Redirect: "https://a.example/#x"}, false, "invalid_url", "redirect_url"},
		"failing check": {partner.Draft{Name: "a"}, profile.URLs{Redirect: d.app + "/gone"}, true, "url_check_failed", "redirect_url"},
	} {
		_, _, _, err := d.Enrol(t.Context(), operator, c.draft, c.urls, c.validate, partner.Credentials{})
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v, want %s on %s", name, err, c.code, c.field)
		}
	}
	if _, total, err := d.Partners.List(t.Context(), paging.First()); total != 0 || err != nil {
		t.Errorf("%d partners were made, %v", total, err)
	}
}

func TestEnrolValidates(t *testing.T) {
	d := open(t, private)
	_, got, _, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"},
		profile.URLs{Webhook: d.app + "/ok/hook", Redirect: d.app + "/ok"}, true, partner.Credentials{})
	if err != nil || !got.WebhookValidAt.Equal(noon) || !got.RedirectValidAt.Equal(noon) {
		t.Errorf("%+v, %v; want both URLs validated", got, err)
	}
}

func TestSetURLs(t *testing.T) {
	d := open(t, private)
	p, first := d.enrol(t, profile.URLs{Webhook: "https://old.example/hook", Redirect: "https://old.example/cb"})
	if _, err := d.AddContact(t.Context(), itself, p.ID, "Ann", "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	d.now = noon.Add(time.Hour)
	want := first
	want.RedirectURL, want.RedirectValidAt, want.RedirectEpoch, want.UpdatedAt = d.app+"/ok?own=query", d.now, 2, d.now
	got, contacts, checks, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Redirect: text(d.app + "/ok?own=query")})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(contacts) != 1 || len(checks) != 1 {
		t.Errorf("%d contacts, %d checks, %v; redirect set (-want +got):\n%s", len(contacts), len(checks), err, diff)
	}
	// The same URL is checked again, and opens no new epoch.
	d.now = noon.Add(2 * time.Hour)
	want.RedirectValidAt, want.UpdatedAt = d.now, d.now
	want.WebhookURL, want.WebhookValidAt = d.app+"/ok/hook", d.now
	got, _, checks, err = d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: text(d.app + "/ok/hook"), Redirect: text(d.app + "/ok?own=query")})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(checks) != 5 {
		t.Errorf("%d checks, %v; both set (-want +got):\n%s", len(checks), err, diff)
	}
	calls := d.calls.Load()
	if got, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{}); got != want || err != nil {
		t.Errorf("nothing to change: %+v, %v", got, err)
	}
	d.now = noon.Add(3 * time.Hour)
	want.WebhookURL, want.WebhookValidAt, want.RedirectURL, want.RedirectValidAt, want.RedirectEpoch, want.UpdatedAt = "", time.Time{}, "", time.Time{}, 3, d.now
	if got, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: text(""), Redirect: text("")}); got != want || err != nil {
		t.Errorf("unset: %+v, %v; want %+v", got, err, want)
	}
	if d.calls.Load() != calls {
		t.Error("a URL was called when there was none to check")
	}
	wantLog := []string{"partner.create", "profile.urls", "contact.create", "profile.urls", "profile.urls", "profile.urls"}
	if diff := cmp.Diff(wantLog, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if _, _, _, err := d.SetURLs(t.Context(), itself, 99, profile.URLChange{Webhook: text("")}); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
}

func TestSetURLsRefuses(t *testing.T) {
	d := open(t, private)
	p, before := d.enrol(t, profile.URLs{Webhook: "https://old.example/hook", Redirect: "https://old.example/cb"})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		change profile.URLChange
		field  string
		checks []profile.Check
	}{
		"redirect: 404": {
			profile.URLChange{Redirect: text(d.app + "/gone")},
			"redirect_url",
			[]profile.Check{{URL: d.app + "/gone", Step: "GET redirect_url", Text: "it answered 404 to a bare GET and must answer 200"}},
		},
		"redirect: 201": {
			profile.URLChange{Redirect: text(d.app + "/created")},
			"redirect_url",
			[]profile.Check{{URL: d.app + "/created", Step: "GET redirect_url", Text: "it answered 201 to a bare GET and must answer 200"}},
		},
		"redirect: moved": {
			profile.URLChange{Redirect: text(d.app + "/moved")},
			"redirect_url",
			[]profile.Check{{URL: d.app + "/moved", Step: "GET redirect_url", Text: "it answered 302, a redirect, to a bare GET and must answer 200"}},
		},
		"webhook: not there, redirect good": {
			profile.URLChange{Webhook: text(closed.URL), Redirect: text(d.app + "/ok")},
			"webhook_url",
			[]profile.Check{
				{URL: d.app + "/ok", Step: "GET redirect_url", OK: true, Text: "it answered 200"},
				{URL: closed.URL, Step: "POST webhook_url: purchase", Text: "the connection was refused; is the server running on that port?"},
			},
		},
	} {
		_, _, _, err := d.SetURLs(t.Context(), itself, p.ID, c.change)
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Unprocessable || f.Code != "url_check_failed" || f.Field != c.field {
			t.Errorf("%s: %v, want url_check_failed on %s", name, err, c.field)
			continue
		}
		if diff := cmp.Diff(c.checks, f.Checks, ignoreDetails); diff != "" {
			t.Errorf("%s: transcript (-want +got):\n%s", name, diff)
		}
	}
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: text("ftp://a.example")}); !fault.Is(err, "invalid_url") {
		t.Errorf("not a web address: %v", err)
	}
	if after, _ := d.get(t, p.ID); after != before {
		t.Errorf("refused changes left %+v, want %+v", after, before)
	}
}

func TestSetURLsGuards(t *testing.T) {
	d := open(t, courier.Options{})
	p, _ := d.enrol(t, profile.URLs{})
	for _, url := range []string{d.app + "/ok", "https" + strings.TrimPrefix(d.app, "http"), "https://localhost/", "https://10.0.0.1/"} {
		if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: text(url)}); !fault.Is(err, "invalid_url") {
			t.Errorf("%s: %v, want invalid_url", url, err)
		}
	}
	if d.calls.Load() != 0 {
		t.Error("a private address was called")
	}
}

func TestAmend(t *testing.T) {
	d := open(t, private)
	p, first := d.enrol(t, profile.URLs{Webhook: "https://old.example/hook"})
	d.now = noon.Add(time.Hour)

	wantPartner, want := p, first
	wantPartner.Name, wantPartner.UpdatedAt = "Ajax", d.now
	want.RedirectURL, want.RedirectEpoch, want.UpdatedAt = "https://new.example/cb", 1, d.now
	gotPartner, got, _, err := d.Amend(t.Context(), operator, p.ID, partner.Change{Name: text("Ajax")}, profile.URLChange{Redirect: text(" https://new.example/cb ")}, false)
	if gotPartner != wantPartner || got != want || err != nil || d.calls.Load() != 0 {
		t.Errorf("Amend = %+v, %+v, %v", gotPartner, got, err)
	}
	d.now = noon.Add(2 * time.Hour)
	want.WebhookURL, want.WebhookValidAt, want.UpdatedAt = d.app+"/ok", d.now, d.now
	if _, got, _, err = d.Amend(t.Context(), operator, p.ID, partner.Change{}, profile.URLChange{Webhook: text(d.app + "/ok")}, true); got != want || err != nil {
		t.Errorf("validated: %+v, %v; want %+v", got, err, want)
	}
	d.now = noon.Add(3 * time.Hour)
	if _, got, _, err = d.Amend(t.Context(), operator, p.ID, partner.Change{}, profile.URLChange{Webhook: text(d.app + "/ok")}, false); got != want || err != nil {
		t.Errorf("the same URL without a check: %+v, %v; want it still valid", got, err)
	}
	want.WebhookURL, want.WebhookValidAt, want.UpdatedAt = "https://new.example/hook", time.Time{}, d.now
	if _, got, _, err = d.Amend(t.Context(), operator, p.ID, partner.Change{}, profile.URLChange{Webhook: text("https://new.example/hook")}, false); got != want || err != nil {
		t.Errorf("another URL without a check: %+v, %v; want it not validated", got, err)
	}
	for name, c := range map[string]struct {
		id       int64
		change   partner.Change
		urls     profile.URLChange
		validate bool
		code     string
	}{
		"unknown partner": {99, partner.Change{}, profile.URLChange{Webhook: text(d.app + "/ok")}, true, "unknown_partner"},
		"bad brand":       {p.ID, partner.Change{Brand: text("ä")}, profile.URLChange{}, false, "invalid_field"},
		"bad URL":         {p.ID, partner.Change{Name: text("Zeus")}, profile.URLChange{Webhook: text("x")}, false, "invalid_url"},
		"failing check":   {p.ID, partner.Change{Name: text("Zeus")}, profile.URLChange{Redirect: text(d.app + "/gone")}, true, "url_check_failed"},
		"long overlap":    {p.ID, partner.Change{SingleKey: new(true), Overlap: -1}, profile.URLChange{Webhook: text("https://zeus.example")}, false, "invalid_field"},
	} {
		if _, _, _, err := d.Amend(t.Context(), operator, c.id, c.change, c.urls, c.validate); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	after, err := d.Partners.Get(t.Context(), p.ID)
	stored, _ := d.get(t, p.ID)
	if after != wantPartner || stored != want || err != nil {
		t.Errorf("refused changes left %+v and %+v, %v", after, stored, err)
	}
}
