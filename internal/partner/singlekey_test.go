package partner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// switchTo changes single_key and returns the issued secrets.
func (d *harness) switchTo(t *testing.T, id int64, single bool, overlap time.Duration) partner.Issued {
	t.Helper()
	var issued partner.Issued
	err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		p, got, err := d.Amend(t.Context(), tx, operator, id, partner.Change{SingleKey: &single, Overlap: overlap})
		issued = got
		if err == nil && p.SingleKey != single {
			t.Errorf("single_key is %v", p.SingleKey)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

// holds checks the valid API keys and the signing secrets, newest first.
func (d *harness) holds(t *testing.T, when string, id int64, keys, ended, signing []string) {
	t.Helper()
	for _, key := range keys {
		if p, err := d.ByKey(t.Context(), key); err != nil || p.ID != id {
			t.Errorf("%s: %.8s… does not serve: %v", when, key, err)
		}
	}
	for _, key := range ended {
		if _, err := d.ByKey(t.Context(), key); err == nil {
			t.Errorf("%s: %.8s… still serves", when, key)
		}
	}
	if got, err := d.WebhookSecrets(t.Context(), id); err != nil || !slices.Equal(got, signing) {
		t.Errorf("%s: %q sign, want %q; %v", when, got, signing, err)
	}
}

// TestSwitchingToASingleKeyAndBack replaces both secrets; the old ones stay valid for the overlap.
func TestSwitchingToASingleKeyAndBack(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "Acme"})
	one := d.switchTo(t, p.ID, true, time.Hour)
	if one.APIKey != one.WebhookSecret || !strings.HasPrefix(one.APIKey, "lk_") || one.APIKey == c.APIKey || !one.PreviousUntil.Equal(d.now.Add(time.Hour)) {
		t.Fatalf("switched on: %+v", one)
	}
	d.holds(t, "in the overlap", p.ID, []string{one.APIKey, c.APIKey}, []string{c.WebhookSecret}, []string{one.APIKey, c.WebhookSecret})
	if again := d.switchTo(t, p.ID, true, time.Hour); again != (partner.Issued{}) {
		t.Errorf("the same again gave %+v", again)
	}
	d.now = d.now.Add(time.Hour)
	d.holds(t, "after the overlap", p.ID, []string{one.APIKey}, []string{c.APIKey}, []string{one.APIKey})

	two := d.switchTo(t, p.ID, false, time.Hour)
	if two.APIKey == two.WebhookSecret || !strings.HasPrefix(two.APIKey, "lk_") || !strings.HasPrefix(two.WebhookSecret, "whsec_") {
		t.Fatalf("switched off: %+v", two)
	}
	d.holds(t, "in the second overlap", p.ID, []string{two.APIKey, one.APIKey}, []string{two.WebhookSecret}, []string{two.WebhookSecret, one.APIKey})
	d.now = d.now.Add(time.Hour)
	d.holds(t, "after it", p.ID, []string{two.APIKey}, []string{one.APIKey}, []string{two.WebhookSecret})

	var actions []string
	for _, e := range d.entries(t, "partner:1") {
		actions = append(actions, e.Action)
		for _, secret := range []string{one.APIKey, two.APIKey, two.WebhookSecret} {
			if strings.Contains(e.Before+e.After, secret) {
				t.Errorf("the audit has a secret: %+v", e)
			}
		}
	}
	if want := []string{"partner.create", "partner.update", "partner.rotate", "partner.update", "partner.rotate"}; !slices.Equal(actions, want) {
		t.Errorf("audit: %q, want %q", actions, want)
	}
}

// TestSwitchingWithoutAnOverlap ends the old secrets immediately.
func TestSwitchingWithoutAnOverlap(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "Acme"})
	one := d.switchTo(t, p.ID, true, 0)
	d.holds(t, "on", p.ID, []string{one.APIKey}, []string{c.APIKey}, []string{one.APIKey})
	two := d.switchTo(t, p.ID, false, 0)
	d.holds(t, "off", p.ID, []string{two.APIKey}, []string{one.APIKey}, []string{two.WebhookSecret})
}

// TestAfterASwitch checks that a further rotation during the overlap leaves two signing secrets,
// and that the overlap can be ended for webhooks only.
func TestAfterASwitch(t *testing.T) {
	for single, what := range map[bool]partner.Secret{true: partner.APIKey, false: partner.WebhookSecret} {
		d := open(t)
		p, _ := d.create(t, partner.Draft{Name: "Acme", SingleKey: !single})
		issued := d.switchTo(t, p.ID, single, time.Hour)
		rotated, err := d.Rotate(t.Context(), operator, p.ID, what, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		d.holds(t, "rotated", p.ID, nil, nil, []string{rotated.Value, issued.WebhookSecret})

		p, c := d.create(t, partner.Draft{Name: "Ajax", SingleKey: !single})
		issued = d.switchTo(t, p.ID, single, time.Hour)
		if err := d.Switch(t.Context(), operator, p.ID, partner.WebhookSecret); err != nil {
			t.Fatal(err)
		}
		// Ending a single key ends both uses. Otherwise the old API key continues.
		keys, ended := []string{issued.APIKey, c.APIKey}, []string(nil)
		if single {
			keys, ended = keys[:1], keys[1:]
		}
		d.holds(t, "ended early", p.ID, keys, ended, []string{issued.WebhookSecret})
	}
}
