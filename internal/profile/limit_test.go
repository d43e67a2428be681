package profile_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// held returns a server that signals each request and answers when the test allows it.
func held(t *testing.T) (url string, came <-chan struct{}, free func()) {
	t.Helper()
	arrived, gate := make(chan struct{}, 100), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-gate
	}))
	free = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(s.Close)
	t.Cleanup(free)
	return s.URL, arrived, free
}

// another returns the same book on another node.
func another(d *harness) *profile.Store {
	return &profile.Store{DB: d.DB, Partners: d.Partners, Now: d.Now, Check: d.Check}
}

// TestOneCheckOfAPartnerAtATime checks this for requests by the partner and the operator, on this
// node and another.
func TestOneCheckOfAPartnerAtATime(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	other, _ := d.enrol(t, profile.URLs{})
	slow, came, free := held(t)
	done := make(chan error, 1)
	go func() {
		_, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Redirect: &slow})
		done <- err
	}()
	<-came
	quick := httptest.NewServer(reply(200, ""))
	t.Cleanup(quick.Close)
	urls := profile.URLChange{Redirect: &quick.URL}
	for _, node := range []*profile.Store{d.Store, another(d)} {
		if _, _, _, err := node.SetURLs(t.Context(), itself, p.ID, urls); !fault.Is(err, "check_running") || fault.Of(err).Kind != fault.Conflict {
			t.Errorf("the partner: %v", err)
		}
		if _, _, _, err := node.Amend(t.Context(), operator, p.ID, partner.Change{}, urls, true); !fault.Is(err, "check_running") {
			t.Errorf("the operator: %v", err)
		}
	}
	if _, _, _, err := d.Amend(t.Context(), operator, p.ID, partner.Change{}, urls, false); err != nil {
		t.Errorf("without a check: %v", err)
	}
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: text("")}); err != nil {
		t.Errorf("nothing to call: %v", err)
	}
	if _, _, _, err := d.SetURLs(t.Context(), itself, other.ID, urls); err != nil {
		t.Errorf("another partner: %v", err)
	}
	free()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, urls); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestTenChecksInTenMinutes checks the limit over all nodes; failed checks count.
func TestTenChecksInTenMinutes(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	s := httptest.NewServer(reply(404, ""))
	t.Cleanup(s.Close)
	now := noon
	d.Now = func() time.Time { return now }
	check := func() error {
		_, _, _, err := another(d).SetURLs(t.Context(), itself, p.ID, profile.URLChange{Redirect: &s.URL})
		return err
	}
	for range profile.MaxChecks {
		if err := check(); !fault.Is(err, "url_check_failed") {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	err := check()
	if f := fault.Of(err); f == nil || f.Kind != fault.Throttled || f.Code != "too_many_checks" || f.After != profile.CheckWindow-10*time.Second {
		t.Fatalf("the eleventh: %v, %+v", err, f)
	}
	now = noon.Add(profile.CheckWindow) // the first is ten minutes ago
	if err := check(); !fault.Is(err, "url_check_failed") {
		t.Errorf("after a wait: %v", err)
	}
	if err := check(); !fault.Is(err, "too_many_checks") {
		t.Errorf("one more: %v", err)
	}
	now = noon.Add(-time.Hour) // the clock was set back
	if err := check(); !fault.Is(err, "url_check_failed") {
		t.Errorf("in the past: %v", err)
	}
	d.Check.Often = true
	for range 2 * profile.MaxChecks {
		if err := check(); !fault.Is(err, "url_check_failed") {
			t.Fatalf("without the limit: %v", err)
		}
	}
}

// TestACheckWhoseNodeDied checks that its claim expires.
func TestACheckWhoseNodeDied(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	now := noon
	d.Now = func() time.Time { return now }
	if err := d.Claim(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	quick := httptest.NewServer(reply(200, ""))
	t.Cleanup(quick.Close)
	urls := profile.URLChange{Redirect: &quick.URL}
	now = now.Add(profile.CheckTimeout)
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, urls); !fault.Is(err, "check_running") {
		t.Errorf("as long as a check may last: %v", err)
	}
	now = noon.Add(-time.Hour) // the clock was set back
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, urls); err != nil {
		t.Errorf("before it began: %v", err)
	}
	if err := d.Claim(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	now = now.Add(profile.CheckTimeout + time.Minute)
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, urls); err != nil {
		t.Errorf("later: %v", err)
	}
}

// TestTwentyChecksAtOnce checks that beyond that every check is refused for a while, even for
// partners that are not created yet. The partner's count is not changed.
func TestTwentyChecksAtOnce(t *testing.T) {
	d := open(t, private)
	slow, came, free := held(t)
	done := make(chan error, profile.MaxAtOnce)
	for range profile.MaxAtOnce {
		go func() {
			_, _, _, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"}, profile.URLs{Redirect: slow}, true, partner.Credentials{})
			done <- err
		}()
		<-came
	}
	p, _ := d.enrol(t, profile.URLs{})
	_, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Redirect: &slow})
	if f := fault.Of(err); f == nil || f.Kind != fault.Busy || f.Code != "too_many_checks" || f.After <= 0 {
		t.Errorf("one more: %v", err)
	}
	_, _, _, err = d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"}, profile.URLs{Redirect: slow}, true, partner.Credentials{})
	if f := fault.Of(err); f == nil || f.Kind != fault.Busy {
		t.Errorf("a new partner: %v", err)
	}
	free()
	for range profile.MaxAtOnce {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for range profile.MaxChecks {
		if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Redirect: &slow}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAClaimIsExtended checks that work that takes longer than a check stays the only one, shares
// its limit, and notices the loss of its claim.
func TestAClaimIsExtended(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	now := noon
	d.Now = func() time.Time { return now }
	long, err := d.BeginTest(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		now = now.Add(profile.CheckTimeout)
		if held, err := long.Extend(t.Context()); err != nil || !held {
			t.Fatalf("extended: %v, %v", held, err)
		}
	}
	now = now.Add(profile.CheckTimeout)
	if _, err := another(d).BeginTest(t.Context(), p.ID); !fault.Is(err, "check_running") {
		t.Errorf("beside it: %v", err)
	}
	now = now.Add(time.Minute)
	other, err := another(d).BeginTest(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := long.Extend(t.Context()); err != nil || held {
		t.Errorf("after its time: %v, %v", held, err)
	}
	long.End(t.Context())
	if _, err := d.BeginTest(t.Context(), p.ID); !fault.Is(err, "check_running") {
		t.Errorf("a lost claim released that of another: %v", err)
	}
	other.End(t.Context())
	if last, err := d.BeginTest(t.Context(), p.ID); err != nil {
		t.Errorf("after both: %v", err)
	} else {
		last.End(t.Context())
	}
}
