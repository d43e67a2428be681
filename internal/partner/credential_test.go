package partner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/lastuse"
	"claviger/internal/partner"
)

func (d *harness) addKey(t *testing.T, id int64, name string) string {
	t.Helper()
	r, err := d.AddKey(t.Context(), operator, id, name, idempotency.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

func (d *harness) list(t *testing.T, id int64) []partner.Credential {
	t.Helper()
	list, err := d.ListCredentials(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// named returns the credentials of a kind, the current one first.
func (d *harness) named(t *testing.T, id int64, what partner.Secret, name string) (found []partner.Credential) {
	t.Helper()
	for _, c := range d.list(t, id) {
		if c.What == what && c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// TestListCredentials checks that the list has the valid credentials, without secrets, in a fixed
// order.
func TestListCredentials(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	other, _ := d.create(t, partner.Draft{Name: "b"})
	ci := d.addKey(t, p.ID, "a CI server")
	renewed := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	d.addKey(t, other.ID, "theirs")
	tail := func(s string) string { return s[len(s)-4:] }
	var got []string
	for _, k := range d.list(t, p.ID) {
		got = append(got, fmt.Sprint(k.What, " ", k.Name, " ", k.Tail, " ", k.Signs, " ", k.Replaced()))
	}
	want := []string{
		"api_key main " + tail(renewed) + " false false",
		"api_key main " + tail(c.APIKey) + " false true",
		"api_key a CI server " + tail(ci) + " false false",
		"client_secret main " + tail(c.ClientSecret) + " false false",
		"webhook_secret main " + tail(c.WebhookSecret) + " true false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := d.list(t, p.ID)[1].EndsAt; !at.Equal(noon.Add(time.Hour)) {
		t.Errorf("the replaced key ends at %s", at)
	}
	d.now = noon.Add(time.Hour)
	if n := len(d.list(t, p.ID)); n != 4 {
		t.Errorf("%d credentials after the overlap", n)
	}
}

// TestKeysOfTheirOwn checks that rotating one key leaves the others, and only the main one signs.
func TestKeysOfTheirOwn(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a", SingleKey: true})
	ci := d.addKey(t, p.ID, "CI")
	if got := d.webhookSecrets(t, p.ID); !cmp.Equal(got, []string{c.APIKey}) {
		t.Errorf("%d secrets sign", len(got))
	}
	r, err := d.Renew(t.Context(), operator, p.ID, partner.Renewal{What: partner.APIKey, Name: "CI"})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.works(t, p.ID, c.APIKey, ci, r.Value); !cmp.Equal(got, []bool{true, false, true}) {
		t.Errorf("after rotating CI the keys work: %v", got)
	}
	main := d.rotate(t, p.ID, partner.APIKey, 0).Value
	if got := d.works(t, p.ID, c.APIKey, main, r.Value); !cmp.Equal(got, []bool{false, true, true}) {
		t.Errorf("after rotating main the keys work: %v", got)
	}
	two := d.switchTo(t, p.ID, false, 0)
	if got := d.works(t, p.ID, main, two.APIKey, r.Value); !cmp.Equal(got, []bool{false, true, true}) {
		t.Errorf("after single_key was switched off the keys work: %v", got)
	}
	if _, err := d.Renew(t.Context(), operator, p.ID, partner.Renewal{What: partner.APIKey, Name: "nobody"}); !fault.Is(err, "unknown_credential") {
		t.Errorf("rotating a key that is not there: %v", err)
	}
}

func TestAddKeyRefuses(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "a"})
	d.addKey(t, p.ID, "CI")
	for name, code := range map[string]string{
		"": "invalid_field", strings.Repeat("x", 41): "invalid_field", "a\nb": "invalid_field", "ci": "key_exists", "Main": "key_exists",
	} {
		if _, err := d.AddKey(t.Context(), operator, p.ID, name, idempotency.Request{}); !fault.Is(err, code) {
			t.Errorf("%q: %v, want %s", name, err, code)
		}
	}
	if _, err := d.AddKey(t.Context(), operator, p.ID+1, "CI", idempotency.Request{}); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
	for i := len(d.named(t, p.ID, partner.APIKey, "CI")) + 1; i < partner.MaxKeys; i++ {
		d.addKey(t, p.ID, fmt.Sprint("key ", i))
	}
	if _, err := d.AddKey(t.Context(), operator, p.ID, "one more", idempotency.Request{}); !fault.Is(err, "too_many_keys") {
		t.Errorf("too many: %v", err)
	}
}

// TestRevoke checks that a revoked credential ends immediately, with its predecessor.
func TestRevoke(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	other, co := d.create(t, partner.Draft{Name: "b"})
	ci := d.addKey(t, p.ID, "CI")
	main := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	revoke := func(of int64, what partner.Secret, name string, nth int) error {
		_, err := d.Revoke(t.Context(), operator, of, d.named(t, p.ID, what, name)[nth].ID)
		return err
	}
	if err := revoke(p.ID, partner.APIKey, partner.MainKey, 1); err != nil {
		t.Fatal(err)
	}
	if got := d.works(t, p.ID, c.APIKey, main, ci); !cmp.Equal(got, []bool{false, true, true}) {
		t.Errorf("after the overlap was ended the keys work: %v", got)
	}
	again := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value
	if err := revoke(p.ID, partner.APIKey, partner.MainKey, 0); err != nil {
		t.Fatal(err)
	}
	if got := d.works(t, p.ID, main, again, ci); !cmp.Equal(got, []bool{false, false, true}) {
		t.Errorf("after main was revoked the keys work: %v", got)
	}
	if err := revoke(other.ID, partner.APIKey, "CI", 0); !fault.Is(err, "unknown_credential") {
		t.Errorf("another partner's key: %v", err)
	}
	if err := revoke(p.ID, partner.WebhookSecret, partner.MainKey, 0); !fault.Is(err, "secret_signs") {
		t.Errorf("what signs: %v", err)
	}
	if err := revoke(p.ID, partner.ClientSecret, partner.MainKey, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ByClient(t.Context(), d.DB, c.ClientID, c.ClientSecret); !fault.Is(err, "invalid_client") {
		t.Errorf("a revoked client secret: %v", err)
	}
	if got := d.works(t, p.ID, ci); !got[0] || !d.works(t, other.ID, co.APIKey)[0] {
		t.Error("revoking ended another key")
	}
	if fresh := d.rotate(t, p.ID, partner.APIKey, time.Hour).Value; !d.works(t, p.ID, fresh)[0] {
		t.Error("no new main key after the old one was revoked")
	}
	var actions []string
	for _, e := range d.entries(t, "partner:1")[1:] {
		actions = append(actions, strings.TrimPrefix(e.Action, "partner."))
	}
	if want := []string{"key", "rotate", "switch", "rotate", "revoke", "revoke", "rotate"}; !cmp.Equal(actions, want) {
		t.Errorf("the audit has %v", actions)
	}
}

// TestRenewOnce checks that a form sent twice, even concurrently, makes no second secret. A form
// about a secret that was replaced in the meantime does nothing.
func TestRenewOnce(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	first := d.named(t, p.ID, partner.APIKey, partner.MainKey)[0].ID
	n := partner.Renewal{
		What: partner.APIKey, Overlap: time.Hour, Replaces: first,
		Once: idempotency.Request{Scope: "portal:user:1", Key: "nonce", Body: "rotate"},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []string
	for range 8 {
		wg.Go(func() {
			r, err := d.Renew(t.Context(), operator, p.ID, n)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !r.Repeated:
				made = append(made, r.Value)
			case err != nil && !fault.Is(err, "idempotency_key_in_use"):
				t.Error(err)
			case r.Value != "":
				t.Error("a repeat has a secret")
			}
		})
	}
	wg.Wait()
	if len(made) != 1 || !cmp.Equal(d.works(t, p.ID, c.APIKey, made[0]), []bool{true, true}) {
		t.Fatalf("%d secrets were made", len(made))
	}
	n.Once.Key = "another"
	if _, err := d.Renew(t.Context(), operator, p.ID, n); !fault.Is(err, "credential_changed") {
		t.Errorf("of a secret that was replaced: %v", err)
	}
	key := idempotency.Request{Scope: "portal:user:1", Key: "key", Body: "key"}
	for i, repeated := range []bool{false, true} {
		r, err := d.AddKey(t.Context(), operator, p.ID, "CI", key)
		if err != nil || r.Repeated != repeated || (r.Value == "") != repeated {
			t.Errorf("key %d: %+v, %v", i, r, err)
		}
	}
}

// TestUses checks that a use is written at most once a minute, in batches, over all nodes.
func TestUses(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	here, there := partner.NewUses(d.DB, nil), partner.NewUses(d.DB, nil)
	use := func(u *lastuse.Uses) {
		t.Helper()
		d.Uses = u
		if !d.works(t, p.ID, c.APIKey)[0] {
			t.Fatal("the key does not work")
		}
		if _, err := d.ByClient(t.Context(), d.DB, c.ClientID, c.ClientSecret); err != nil {
			t.Fatal(err)
		}
	}
	flush := func(u *lastuse.Uses, wantWrite bool) {
		t.Helper()
		before, _ := d.DB.Counts()
		if err := u.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after, _ := d.DB.Counts(); (after > before) != wantWrite {
			t.Errorf("%d transactions, want one: %v", after-before, wantWrite)
		}
	}
	last := func(want time.Time) {
		t.Helper()
		for _, what := range []partner.Secret{partner.APIKey, partner.ClientSecret} {
			if got := d.named(t, p.ID, what, partner.MainKey)[0].LastUsedAt; !got.Equal(want) {
				t.Errorf("%s was last used at %s, want %s", what, got, want)
			}
		}
	}
	last(time.Time{})
	use(here)
	flush(here, true)
	last(noon)
	d.now = noon.Add(30 * time.Second)
	use(here)
	flush(here, false) // within the minute it is not even noted
	use(there)
	flush(there, true) // another node cannot know, but the row prevents a write
	last(noon)
	d.now = noon.Add(time.Minute)
	use(here)
	flush(here, true)
	last(d.now)

	d.now = noon.Add(3 * time.Minute)
	use(here)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if err := here.Flush(away); !errors.Is(err, context.Canceled) {
		t.Fatalf("a database that is away: %v", err)
	}
	flush(here, true)
	last(d.now)
	if _, err := d.ByKey(t.Context(), "lk_wrong"); err == nil {
		t.Fatal("a wrong key works")
	}
	flush(here, false)
}

// TestUsesRun checks that pending uses are also written at the end.
func TestUsesRun(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "a"})
	d.Uses = partner.NewUses(d.DB, nil)
	d.Uses.Every = time.Hour
	d.works(t, p.ID, c.APIKey)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Uses.Run(ctx)
	if got := d.named(t, p.ID, partner.APIKey, partner.MainKey)[0].LastUsedAt; !got.Equal(noon) {
		t.Errorf("last used at %s", got)
	}
}
