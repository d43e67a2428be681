package profile_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// settings returns the current settings of a partner.
func (d *harness) settings(t *testing.T, id int64) profile.Settings {
	t.Helper()
	p, err := d.Partners.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := d.get(t, id)
	return profile.SettingsOf(p, f)
}

func TestChangeSettings(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	was := d.settings(t, p.ID)
	if want := (profile.Settings{Brand: p.Brand, IDTokenAlg: "RS256", ErrorMember: true}); was != want {
		t.Fatalf("at first %+v", was)
	}
	after, issued, err := d.ChangeSettings(t.Context(), itself, p.ID, profile.SettingsChange{
		Partner:    partner.Change{Brand: text("Acme"), Strict: new(true)},
		Connection: profile.Connection{IDTokenAlg: text("ES256"), NoErrorMember: new(true)}, Was: &was,
	})
	want := profile.Settings{Brand: "Acme", Strict: true, IDTokenAlg: "ES256"}
	if err != nil || after != want || issued.APIKey != "" || d.settings(t, p.ID) != want {
		t.Fatalf("changed to %+v, %v, %v", after, issued, err)
	}

	// A sender with the old page changes nothing, and is told the differences.
	_, _, err = d.ChangeSettings(t.Context(), itself, p.ID, profile.SettingsChange{Partner: partner.Change{Brand: text("Other")}, Was: &was})
	f := fault.Of(err)
	if f == nil || f.Code != "settings_changed" || f.Kind != fault.Conflict {
		t.Fatalf("on an old page: %v", err)
	}
	for _, part := range []string{"the brand was " + was.Brand + " and is Acme", "strict delivery was off and is on", "the signing algorithm was RS256 and is ES256", "the error member was on and is off"} {
		if !strings.Contains(f.Text, part) {
			t.Errorf("it does not say %q: %s", part, f.Text)
		}
	}
	if strings.Contains(f.Text, "single key") || d.settings(t, p.ID) != want {
		t.Errorf("settings %+v; it says %s", d.settings(t, p.ID), f.Text)
	}

	_, issued, err = d.ChangeSettings(t.Context(), itself, p.ID, profile.SettingsChange{
		Partner: partner.Change{SingleKey: new(true), Overlap: time.Hour}, Was: &want,
	})
	if err != nil || issued.APIKey == "" || issued.APIKey != issued.WebhookSecret {
		t.Errorf("a single key: %+v, %v", issued, err)
	}
	for name, c := range map[string]profile.SettingsChange{
		"brand":     {Partner: partner.Change{Brand: text("a b")}},
		"algorithm": {Connection: profile.Connection{IDTokenAlg: text("none")}},
		"url":       {Connection: profile.Connection{InitiateLoginURI: text("ftp://x")}},
		"overlap":   {Partner: partner.Change{SingleKey: new(false), Overlap: partner.MaxOverlap + 1}},
	} {
		if _, _, err := d.ChangeSettings(t.Context(), itself, p.ID, c); fault.Of(err) == nil || fault.Of(err).Kind != fault.Unprocessable {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := d.ChangeSettings(t.Context(), itself, 99, profile.SettingsChange{Was: &want}); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
	wantLog := []string{"partner.create", "partner.update", "profile.connection", "partner.update", "partner.rotate"}
	if diff := cmp.Diff(wantLog, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// TestSettingsAtOnce checks that of two concurrent changes of the same settings, one succeeds.
func TestSettingsAtOnce(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	for range 5 {
		was := d.settings(t, p.ID)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, brand := range []string{was.Brand + "a", was.Brand + "b"} {
			wg.Go(func() {
				_, _, errs[i] = d.ChangeSettings(t.Context(), itself, p.ID, profile.SettingsChange{Partner: partner.Change{Brand: &brand}, Was: &was})
			})
		}
		wg.Wait()
		if fault.Is(errs[0], "settings_changed") == fault.Is(errs[1], "settings_changed") {
			t.Errorf("the two got %v and %v", errs[0], errs[1])
		}
	}
}

// TestUpdateChecksAsTheNewPartner checks that URLs and the partner change together or not at all.
func TestUpdateChecksAsTheNewPartner(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	changed, _, _, _, err := d.Update(t.Context(), itself, p.ID, partner.Change{Brand: text("Acme")}, profile.URLChange{Webhook: text(d.app + "/fail")})
	if err == nil || changed.ID != 0 || d.settings(t, p.ID).Brand != p.Brand {
		t.Errorf("a URL that fails: %+v, %v, brand %s", changed, err, d.settings(t, p.ID).Brand)
	}
	changed, _, _, _, err = d.Update(t.Context(), itself, p.ID, partner.Change{Brand: text("Acme")}, profile.URLChange{})
	if err != nil || changed.Brand != "Acme" {
		t.Errorf("%+v, %v", changed, err)
	}
}
