package partner_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// works reports for each key whether it opens the API as that partner.
func (d *harness) works(t *testing.T, id int64, keys ...string) []bool {
	t.Helper()
	var got []bool
	for _, key := range keys {
		p, err := d.ByKey(t.Context(), key)
		if err != nil && !fault.Is(err, "invalid_key") {
			t.Fatal(err)
		}
		got = append(got, err == nil && p.ID == id)
	}
	return got
}

func (d *harness) rotate(t *testing.T, id int64, what partner.Secret, overlap time.Duration) partner.Rotation {
	t.Helper()
	r, err := d.Rotate(t.Context(), operator, id, what, overlap)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (d *harness) webhookSecrets(t *testing.T, id int64) []string {
	t.Helper()
	list, err := d.WebhookSecrets(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestByKey(t *testing.T) {
	d := open(t)
	a, ca := d.create(t, partner.Draft{Name: "a"})
	b, cb := d.create(t, partner.Draft{Name: "b"})
	for key, want := range map[string]int64{ca.APIKey: a.ID, cb.APIKey: b.ID} {
		if p, err := d.ByKey(t.Context(), key); err != nil || p.ID != want {
			t.Errorf("ByKey = %+v, %v; want partner %d", p, err, want)
		}
	}
	for _, key := range []string{"", "x", ca.ClientSecret, ca.WebhookSecret, ca.ClientID, ca.APIKey + "0", strings.ToUpper(ca.APIKey), "\x00\xff", "' OR 1=1 --"} {
		_, err := d.ByKey(t.Context(), key)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != "invalid_key" {
			t.Errorf("ByKey(%q) = %v, want invalid_key", key, err)
		}
	}
}

func TestByClient(t *testing.T) {
	d := open(t)
	a, ca := d.create(t, partner.Draft{Name: "a"})
	_, cb := d.create(t, partner.Draft{Name: "b"})
	if p, err := d.ByClient(t.Context(), d.DB, ca.ClientID, ca.ClientSecret); err != nil || p != a {
		t.Errorf("ByClient = %+v, %v; want %+v", p, err, a)
	}
	for _, pair := range [][2]string{{ca.ClientID, cb.ClientSecret}, {ca.ClientID, ""}, {"", ca.ClientSecret}, {ca.ClientID, ca.APIKey}} {
		if _, err := d.ByClient(t.Context(), d.DB, pair[0], pair[1]); !fault.Is(err, "invalid_client") {
			t.Errorf("ByClient%q = %v, want invalid_client", pair, err)
		}
	}
	r := d.rotate(t, a.ID, partner.ClientSecret, time.Hour)
	for _, s := range []string{ca.ClientSecret, r.Value} {
		if _, err := d.ByClient(t.Context(), d.DB, ca.ClientID, s); err != nil {
			t.Errorf("during the overlap: %v", err)
		}
	}
	d.now = r.PreviousUntil
	if _, err := d.ByClient(t.Context(), d.DB, ca.ClientID, ca.ClientSecret); !fault.Is(err, "invalid_client") {
		t.Errorf("after the overlap: %v", err)
	}
}

func TestRotate(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	one := c.APIKey

	d.now = noon.Add(time.Minute)
	r := d.rotate(t, p.ID, partner.APIKey, time.Hour)
	two := r.Value
	if r.What != partner.APIKey || !r.PreviousUntil.Equal(d.now.Add(time.Hour)) || !strings.HasPrefix(two, "lk_") || two == one {
		t.Errorf("rotation %+v", r)
	}
	if got := d.works(t, p.ID, one, two); !cmp.Equal(got, []bool{true, true}) {
		t.Errorf("during the overlap the two keys work: %v", got)
	}
	d.now = r.PreviousUntil.Add(-time.Microsecond)
	if got := d.works(t, p.ID, one, two); !cmp.Equal(got, []bool{true, true}) {
		t.Errorf("just before the overlap's end: %v", got)
	}
	d.now = r.PreviousUntil
	if got := d.works(t, p.ID, one, two); !cmp.Equal(got, []bool{false, true}) {
		t.Errorf("at the overlap's end: %v", got)
	}

	three := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	four := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	if got := d.works(t, p.ID, one, two, three, four); !cmp.Equal(got, []bool{false, false, true, true}) {
		t.Errorf("never more than two live: %v", got)
	}
	five := d.rotate(t, p.ID, partner.APIKey, 0).Value
	if got := d.works(t, p.ID, two, three, four, five); !cmp.Equal(got, []bool{false, false, false, true}) {
		t.Errorf("without an overlap only the new one lives: %v", got)
	}
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{c.WebhookSecret}) {
		t.Errorf("rotating the API key changed the webhook secret")
	}
}

func TestRotateWebhookSecret(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	r := d.rotate(t, p.ID, partner.WebhookSecret, time.Hour)
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{r.Value, c.WebhookSecret}) {
		t.Errorf("during the overlap: %q, want the new one and the old one", got)
	}
	if got := d.works(t, p.ID, c.APIKey, r.Value); !cmp.Equal(got, []bool{true, false}) {
		t.Errorf("keys that open the API: %v", got)
	}
	d.now = r.PreviousUntil
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{r.Value}) {
		t.Errorf("after the overlap: %q, want the new one", got)
	}
}

func TestSingleKey(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a", SingleKey: true})
	if !p.SingleKey || c.APIKey != c.WebhookSecret || !strings.HasPrefix(c.APIKey, "lk_") {
		t.Fatalf("%+v with %+v", p, c)
	}
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{c.APIKey}) {
		t.Errorf("webhook secrets %q, want the API key", got)
	}
	keys := []string{c.APIKey}
	for _, what := range []partner.Secret{partner.APIKey, partner.WebhookSecret} {
		r := d.rotate(t, p.ID, what, time.Hour)
		keys = append([]string{r.Value}, keys[:1]...)
		if r.What != what || !strings.HasPrefix(r.Value, "lk_") {
			t.Errorf("rotating %s gave %+v", what, r)
		}
		if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, keys) {
			t.Errorf("after rotating %s: webhook secrets %q, want %q", what, got, keys)
		}
		if got := d.works(t, p.ID, keys...); !cmp.Equal(got, []bool{true, true}) {
			t.Errorf("after rotating %s: the keys work: %v", what, got)
		}
	}
}

func TestGivenCredentials(t *testing.T) {
	d := open(t)
	given := partner.Credentials{ClientID: "dev-client", ClientSecret: "cs_dev", APIKey: "lk_dev", WebhookSecret: "whsec_ZGV2"}
	p, c, err := d.tryCreate(t, partner.Draft{Name: "dev"}, given)
	if err != nil || c != given || p.ClientID != "dev-client" {
		t.Fatalf("%+v, %+v, %v", p, c, err)
	}
	if got := d.works(t, p.ID, "lk_dev"); !got[0] {
		t.Error("the given key does not work")
	}
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{"whsec_ZGV2"}) {
		t.Errorf("webhook secrets %q", got)
	}
	if _, _, err := d.tryCreate(t, partner.Draft{Name: "again"}, given); !sqldb.IsDuplicate(err) {
		t.Errorf("the same credentials twice: %v", err)
	}
}

func TestRotateRefuses(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	for name, try := range map[string]struct {
		id      int64
		what    partner.Secret
		overlap time.Duration
		code    string
	}{
		"unknown secret":  {p.ID, "password", 0, "invalid_field"},
		"negative":        {p.ID, partner.APIKey, -1, "invalid_field"},
		"too long":        {p.ID, partner.APIKey, partner.MaxOverlap + 1, "invalid_field"},
		"unknown partner": {99, partner.APIKey, 0, "unknown_partner"},
	} {
		if _, err := d.Rotate(t.Context(), operator, try.id, try.what, try.overlap); !fault.Is(err, try.code) {
			t.Errorf("%s: %v, want %s", name, err, try.code)
		}
	}
	if got := d.works(t, p.ID, c.APIKey); !got[0] {
		t.Error("a refused rotation ended the key")
	}
}

func TestRotateAtOnce(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	var lock sync.Mutex
	keys := []string{c.APIKey}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := d.Rotate(t.Context(), operator, p.ID, partner.APIKey, time.Hour)
			if err != nil {
				t.Error(err)
			}
			lock.Lock()
			defer lock.Unlock()
			keys = append(keys, r.Value)
		})
	}
	wg.Wait()
	live := 0
	for _, ok := range d.works(t, p.ID, keys...) {
		if ok {
			live++
		}
	}
	if live != 2 {
		t.Errorf("%d keys live after rotations at once, want 2", live)
	}
}

// TestNoSecretAtRest searches all stored rows for secrets in plain text.
func TestNoSecretAtRest(t *testing.T) {
	d := open(t)
	a, ca := d.create(t, partner.Draft{Name: "a"})
	_, cb := d.create(t, partner.Draft{Name: "b", SingleKey: true})
	r := d.rotate(t, a.ID, partner.APIKey, time.Hour)
	secrets := []string{ca.ClientSecret, ca.APIKey, ca.WebhookSecret, cb.ClientSecret, cb.APIKey, r.Value}
	var stored []string
	for _, sql := range []string{
		`SELECT kind || ' ' || hash || ' ' || sealed FROM partner_secrets`,
		`SELECT name || ' ' || brand || ' ' || client_id FROM partners`,
		`SELECT before || ' ' || after || ' ' || subject FROM audit_entries`,
	} {
		rows, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], sql)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", sql, len(rows), err)
		}
		stored = append(stored, rows...)
	}
	for _, row := range stored {
		for _, s := range secrets {
			if strings.Contains(row, s) || strings.Contains(row, s[3:]) {
				t.Errorf("a secret is stored as it is: %s", row)
			}
		}
	}
}

func TestSwitchEndsTheOverlap(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	if err := d.Switch(t.Context(), operator, p.ID, partner.APIKey); err != nil {
		t.Fatal(err)
	}
	if got := d.works(t, p.ID, c.APIKey); !cmp.Equal(got, []bool{true}) {
		t.Errorf("without an overlap the key works: %v", got)
	}
	key := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	hook := d.rotate(t, p.ID, partner.WebhookSecret, time.Hour).Value
	for _, what := range []partner.Secret{partner.APIKey, partner.WebhookSecret} {
		if err := d.Switch(t.Context(), operator, p.ID, what); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.works(t, p.ID, c.APIKey, key); !cmp.Equal(got, []bool{false, true}) {
		t.Errorf("after the switch the keys work: %v", got)
	}
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{hook}) {
		t.Errorf("%d secrets sign", len(got))
	}
	if err := d.Switch(t.Context(), operator, p.ID, "password"); !fault.Is(err, "invalid_field") {
		t.Errorf("got %v", err)
	}
	if err := d.Switch(t.Context(), operator, p.ID+1, partner.APIKey); !fault.Is(err, "unknown_partner") {
		t.Errorf("got %v", err)
	}
}
