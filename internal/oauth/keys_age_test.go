package oauth_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/oauth"
	"claviger/internal/paging"
)

// ending lists the ES256 keys that should be replaced.
func ending(t *testing.T, k *oauth.Keys) []string {
	t.Helper()
	list, err := k.Ending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kids []string
	for _, key := range list {
		if key.Alg == oauth.ES256 {
			kids = append(kids, key.ID)
		}
	}
	return kids
}

// TestKeysEnd: people are told of a key 30 days before it has signed for a year, until a
// replacement is scheduled.
func TestKeysEnd(t *testing.T) {
	w := newHarness(t)
	signs := signer(t, w.Keys, oauth.ES256)
	const day = 24 * time.Hour
	w.clock.Advance(335 * day)
	if got := ending(t, w.Keys); len(got) != 0 {
		t.Errorf("30 days before: %v", got)
	}
	w.clock.Advance(time.Second)
	if got := ending(t, w.Keys); len(got) != 1 || got[0] != signs {
		t.Errorf("later: %v, want %s", got, signs)
	}
	list, err := w.Keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range list {
		want := time.Time{}
		if key.State == oauth.Active {
			want = noon.Add(365 * day)
		}
		if !key.EndsAt().Equal(want) {
			t.Errorf("%s (%s) ends at %s, want %s", key.ID, key.State, key.EndsAt(), want)
		}
	}
	w.clock.Advance(365 * day)
	if got := ending(t, w.Keys); len(got) != 1 {
		t.Errorf("a year later: %v", got)
	}
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, true); err != nil {
		t.Fatal(err)
	}
	if got := ending(t, w.Keys); len(got) != 0 {
		t.Errorf("after a rotation: %v", got)
	}
}

// TestRevokeKeyOfEachAlgorithm: new keys have the algorithm of the revoked one, whichever was made
// first.
func TestRevokeKeyOfEachAlgorithm(t *testing.T) {
	for _, alg := range []oauth.Alg{oauth.RS256, oauth.ES256} {
		w := newHarness(t)
		if err := w.Keys.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := published(t, w.Keys, alg)
		revoked := signer(t, w.Keys, alg)
		if _, err := w.Keys.Revoke(t.Context(), theOperator, revoked); err != nil {
			t.Fatal(err)
		}
		after := published(t, w.Keys, alg)
		if by := signer(t, w.Keys, alg); by == revoked || len(after) != len(before) {
			t.Errorf("%s: %s signs; %v is published, %v was", alg, by, after, before)
		}
	}
}

// TestRotationIsAudited: the audit has the time from which a key signs.
func TestRotationIsAudited(t *testing.T) {
	w := newHarness(t)
	signer(t, w.Keys, oauth.ES256)
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, false); err != nil {
		t.Fatal(err)
	}
	list, _, err := (&audit.Log{DB: w.DB}).List(t.Context(), audit.Filter{Action: "key.rotate"}, paging.First())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	before, after := list[0].Before, list[0].After
	if strings.Contains(before, "activates_at") || !strings.Contains(after, `"activates_at":"2026-03-02T12:00:00Z"`) {
		t.Errorf("from %s to %s", before, after)
	}
}
