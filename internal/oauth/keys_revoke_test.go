package oauth_test

import (
	"crypto/rsa"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/paging"
)

// kids returns the kids of the ES256 keys in the order of their activation.
func kids(t testing.TB, k *oauth.Keys) []string {
	t.Helper()
	var list []string
	for _, s := range states(t, k, oauth.ES256) {
		_, kid, _ := strings.Cut(s, " ")
		list = append(list, kid)
	}
	return list
}

// threeKeys makes a previous, an active and a next key of ES256.
func threeKeys(t testing.TB, k *oauth.Keys) (previous, active, next string) {
	t.Helper()
	if _, err := k.Rotate(t.Context(), theOperator, oauth.ES256, true); err != nil {
		t.Fatal(err)
	}
	list := kids(t, k)
	return list[0], list[1], list[2]
}

// TestRevokeActiveKey: the key is removed immediately, together with the next one stored beside it.
// A new key signs, and the other node knows within a second.
func TestRevokeActiveKey(t *testing.T) {
	w := newHarness(t)
	other := &oauth.Keys{DB: w.DB, Sealer: w.Sealer, Now: w.Now}
	previous, active, next := threeKeys(t, w.Keys)
	others := published(t, w.Keys, oauth.RS256)
	signer(t, other, oauth.ES256)
	if _, err := w.Keys.Revoke(t.Context(), theOperator, active); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)
	for name, k := range map[string]*oauth.Keys{"this node": w.Keys, "the other node": other} {
		got := published(t, k, oauth.ES256)
		if len(got) != 3 || !slices.Contains(got, previous) || slices.Contains(got, active) || slices.Contains(got, next) {
			t.Errorf("%s publishes %q of %s, %s (revoked), %s (beside it)", name, got, previous, active, next)
		}
		if by := signer(t, k, oauth.ES256); by == previous || by == active || by == next {
			t.Errorf("%s signs with a key that is old", name)
		}
	}
	if diff := cmp.Diff(others, published(t, w.Keys, oauth.RS256)); diff != "" {
		t.Errorf("keys of the other algorithm (-want +got):\n%s", diff)
	}
}

// TestRevokeKeyThatDoesNotSign: the active key stays.
func TestRevokeKeyThatDoesNotSign(t *testing.T) {
	for _, which := range []oauth.State{oauth.Previous, oauth.Next} {
		t.Run(string(which), func(t *testing.T) {
			w := newHarness(t)
			previous, active, next := threeKeys(t, w.Keys)
			revoked, stays := previous, next
			if which == oauth.Next {
				revoked, stays = next, previous
			}
			if _, err := w.Keys.Revoke(t.Context(), theOperator, revoked); err != nil {
				t.Fatal(err)
			}
			if got := kids(t, w.Keys); slices.Contains(got, revoked) || !slices.Contains(got, stays) || signer(t, w.Keys, oauth.ES256) != active {
				t.Errorf("after %s was revoked there are %q", revoked, got)
			}
			// There is a key to rotate to.
			if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, true); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRevokeKeyThatIsToSign revokes a key that is scheduled to sign.
func TestRevokeKeyThatIsToSign(t *testing.T) {
	w := newHarness(t)
	active := signer(t, w.Keys, oauth.ES256)
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, false); err != nil {
		t.Fatal(err)
	}
	before := kids(t, w.Keys)
	if _, err := w.Keys.Revoke(t.Context(), theOperator, before[1]); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(48 * time.Hour)
	got := states(t, w.Keys, oauth.ES256)
	if len(got) != 2 || got[0] != "active "+active || slices.Contains(before, strings.TrimPrefix(got[1], "next ")) {
		t.Errorf("keys %q, before %q", got, before)
	}
}

// TestHintOfRevokedKey: a thief cannot use a revoked key for hints.
func TestHintOfRevokedKey(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	token := w.hint(p, oauth.ES256, 7)
	if _, err := w.hinted(p, token); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Keys.Revoke(t.Context(), theOperator, signer(t, w.Keys, oauth.ES256)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.hinted(p, token); err == nil {
		t.Error("a hint that the revoked key signed is accepted")
	}
}

func TestRevokeUnknownKey(t *testing.T) {
	w := newHarness(t)
	previous, _, _ := threeKeys(t, w.Keys)
	before := states(t, w.Keys, oauth.ES256)
	if _, err := w.Keys.Revoke(t.Context(), theOperator, previous+"x"); !fault.Is(err, "unknown_key") {
		t.Errorf("revoked: %v", err)
	}
	if diff := cmp.Diff(before, states(t, w.Keys, oauth.ES256)); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

// TestRevokeKeyTwice: of two requests at the same time, the second one changes nothing.
func TestRevokeKeyTwice(t *testing.T) {
	w := newHarness(t)
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.RS256, true); err != nil {
		t.Fatal(err)
	}
	active := signer(t, w.Keys, oauth.RS256)
	other := &oauth.Keys{DB: w.DB, Sealer: w.Sealer, Now: w.Now, NewRSA: w.Keys.NewRSA}
	w.Keys.NewRSA = func() (*rsa.PrivateKey, error) { // when the key was found
		w.Keys.NewRSA = other.NewRSA
		if _, err := other.Revoke(t.Context(), theOperator, active); err != nil {
			t.Error(err)
		}
		return other.NewRSA()
	}
	if _, err := w.Keys.Revoke(t.Context(), theOperator, active); !fault.Is(err, "unknown_key") {
		t.Errorf("revoked twice: %v", err)
	}
	if got := states(t, w.Keys, oauth.RS256); len(got) != 3 {
		t.Errorf("there are %q", got)
	}
}

// TestNewKeysAreDated: new keys have the time at which they were made. A key that a revocation made is published for a day before a rotation lets it
// sign, like each other one.
func TestNewKeysAreDated(t *testing.T) {
	w := newHarness(t)
	signer(t, w.Keys, oauth.ES256)
	all := func(want time.Time) {
		t.Helper()
		list, err := w.Keys.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			if k.Alg == oauth.ES256 && k.State != oauth.Previous && !k.CreatedAt.Equal(want) {
				t.Errorf("the %s key is of %s, want %s", k.State, k.CreatedAt, want)
			}
		}
	}
	all(noon)
	_, active, _ := threeKeys(t, w.Keys)
	w.clock.Advance(48 * time.Hour)
	if _, err := w.Keys.Revoke(t.Context(), theOperator, active); err != nil {
		t.Fatal(err)
	}
	all(w.clock.Now())
	list, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, false)
	if err != nil {
		t.Fatal(err)
	}
	want := w.clock.Now().Add(24 * time.Hour)
	if !slices.ContainsFunc(list, func(k oauth.Key) bool { return k.Alg == oauth.ES256 && k.ActivatesAt.Equal(want) }) {
		t.Errorf("no key signs from %s on: %+v", want, list)
	}
}

// TestRevokeIsAudited: the audit has each removed and each new key.
func TestRevokeIsAudited(t *testing.T) {
	w := newHarness(t)
	_, active, next := threeKeys(t, w.Keys)
	if _, err := w.Keys.Revoke(t.Context(), theOperator, active); err != nil {
		t.Fatal(err)
	}
	entries, _, err := (&audit.Log{DB: w.DB}).List(t.Context(), audit.Filter{}, paging.First())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries[:4] {
		got = append(got, e.Action+" "+e.Subject)
	}
	made := kids(t, w.Keys)
	want := []string{"key.create key:" + made[2], "key.create key:" + made[1], "key.revoke key:" + next, "key.revoke key:" + active}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}
