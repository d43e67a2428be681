package oauth_test

import (
	"crypto"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/paging"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// signer returns the kid of the active key.
func signer(t testing.TB, k *oauth.Keys, alg oauth.Alg) string {
	t.Helper()
	token, err := k.Sign(t.Context(), alg, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := k.Published(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if body, err := parsed.Verify(set); err != nil || string(body) != `{"a":"b"}` {
		t.Errorf("verified by the published keys: %s, %v", body, err)
	}
	return parsed.Signatures[0].Protected.KeyID
}

// published returns the kids of the published keys of alg.
func published(t testing.TB, k *oauth.Keys, alg oauth.Alg) []string {
	t.Helper()
	set, err := k.Published(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kids []string
	for _, key := range set.Keys {
		if !key.IsPublic() || key.Use != "sig" || !key.Valid() {
			t.Errorf("published: %+v", key)
		}
		if sum, err := key.Thumbprint(crypto.SHA256); err != nil || key.KeyID != base64.RawURLEncoding.EncodeToString(sum) {
			t.Errorf("kid %s is not the thumbprint of its key", key.KeyID)
		}
		if key.Algorithm == string(alg) {
			kids = append(kids, key.KeyID)
		}
	}
	return kids
}

// states lists the keys of alg with their states, as the operator sees them.
func states(t testing.TB, k *oauth.Keys, alg oauth.Alg) []string {
	t.Helper()
	list, err := k.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, key := range list {
		if key.Alg == alg {
			out = append(out, fmt.Sprintf("%s %s", key.State, key.ID))
		}
	}
	return out
}

// TestRotationOverTime checks by the hour which keys of an algorithm are published and which one
// signs.
func TestRotationOverTime(t *testing.T) {
	w := newHarness(t)
	k := w.Keys
	a := signer(t, k, oauth.ES256)
	first := published(t, k, oauth.ES256)
	b := first[1]
	expect := func(after time.Duration, signs string, publishes ...string) {
		t.Helper()
		w.clock.Advance(noon.Add(after).Sub(w.clock.Now()))
		if got := signer(t, k, oauth.ES256); got != signs {
			t.Errorf("after %v %s signs, want %s", after, got, signs)
		}
		if diff := cmp.Diff(publishes, published(t, k, oauth.ES256)); diff != "" {
			t.Errorf("published after %v (-want +got):\n%s", after, diff)
		}
	}
	expect(0, a, a, b)
	expect(9*time.Hour, a, a, b)
	list, err := k.Rotate(t.Context(), theOperator, oauth.ES256, false)
	if err != nil {
		t.Fatal(err)
	}
	c := list[len(list)-1].ID
	if at := list[len(list)-2].ActivatesAt; !at.Equal(noon.Add(24 * time.Hour)) {
		t.Errorf("the key made at noon, rotated at 9 o'clock, signs from %v on", at)
	}
	expect(9*time.Hour, a, a, b, c)
	if diff := cmp.Diff([]string{"active " + a, "next " + b, "next " + c}, states(t, k, oauth.ES256)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	expect(24*time.Hour-1, a, a, b, c)
	expect(24*time.Hour, b, b, a, c)
	expect(26*time.Hour, b, b, a, c)
	if n, err := prune.Rows(t.Context(), k.DB, k.Now(), k.Expiring()); n != 0 || err != nil {
		t.Errorf("Forget of a key that is served: %d, %v", n, err)
	}
	expect(26*time.Hour+5*time.Minute, b, b, c)
	if n, err := prune.Rows(t.Context(), k.DB, k.Now(), k.Expiring()); n != 1 || err != nil {
		t.Errorf("Forget of a key that is no longer served: %d, %v", n, err)
	}
	expect(27*time.Hour, b, b, c)
	if diff := cmp.Diff([]string{"active " + b, "next " + c}, states(t, k, oauth.ES256)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	// A key that was published for a day signs immediately.
	expect(33*time.Hour, b, b, c)
	list, err = k.Rotate(t.Context(), theOperator, oauth.ES256, false)
	if err != nil {
		t.Fatal(err)
	}
	d := list[len(list)-1].ID
	expect(33*time.Hour, c, c, b, d)
	checkAudit(t, w, map[string]int{"key.create": 6, "key.rotate": 2, "key.forget": 1})
}

// checkAudit counts the audit entries about keys.
func checkAudit(t *testing.T, w *harness, want map[string]int) {
	t.Helper()
	entries, _, err := (&audit.Log{DB: w.DB}).List(t.Context(), audit.Filter{}, paging.Page{Number: 1, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range entries {
		got[e.Action]++
		if !strings.HasPrefix(e.Subject, "key:") {
			t.Errorf("an entry about %s", e.Subject)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit entries (-want +got):\n%s", diff)
	}
}

func TestRotateNow(t *testing.T) {
	w := newHarness(t)
	k := w.Keys
	if err := k.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := published(t, k, oauth.ES256)[0], published(t, k, oauth.ES256)[1]
	list, err := k.Rotate(t.Context(), theOperator, oauth.ES256, true)
	if err != nil {
		t.Fatal(err)
	}
	c := list[len(list)-1].ID
	if got := signer(t, k, oauth.ES256); got != b {
		t.Errorf("%s signs, want the former next key, at the time the first one was made", got)
	}
	if diff := cmp.Diff([]string{b, a, c}, published(t, k, oauth.ES256)); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	// A scheduled rotation blocks the next one, and now brings it forward.
	if _, err := k.Rotate(t.Context(), theOperator, oauth.ES256, false); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	before, err := k.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, alg := range []oauth.Alg{oauth.ES256, ""} {
		_, err := k.Rotate(t.Context(), theOperator, alg, false)
		if f := fault.Of(err); f == nil || f.Kind != fault.Conflict || f.Code != "rotation_pending" || !strings.Contains(f.Text, "2026-03-02T12:00:00Z") || strings.Contains(f.Text, "--") {
			t.Errorf("a second rotation of %q = %v", alg, err)
		}
	}
	if after, err := k.List(t.Context()); err != nil || cmp.Diff(before, after) != "" {
		t.Errorf("a refused rotation changed the keys, %v:\n%s", err, cmp.Diff(before, after))
	}
	list, err = k.Rotate(t.Context(), theOperator, oauth.ES256, true)
	if err != nil || len(list) != len(before) {
		t.Errorf("%d keys, %v; the next one was there already", len(list), err)
	}
	if got := signer(t, k, oauth.ES256); got != c {
		t.Errorf("%s signs, want %s", got, c)
	}
}

func TestRotateAll(t *testing.T) {
	w := newHarness(t)
	list, err := w.Keys.Rotate(t.Context(), theOperator, "", true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, key := range list {
		got = append(got, fmt.Sprintf("%s %s %t", key.Alg, key.State, key.ServedUntil.IsZero()))
	}
	want := []string{
		"RS256 previous false", "RS256 active true", "RS256 next true",
		"ES256 previous false", "ES256 active true", "ES256 next true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if _, err := w.Keys.Rotate(t.Context(), theOperator, "HS256", true); !fault.Is(err, "invalid_field") {
		t.Errorf("another algorithm: %v", err)
	}
}

// TestFirstKeysAtOnce: two nodes make the first keys of a database simultaneously, with real key
// sizes.
func TestFirstKeysAtOnce(t *testing.T) {
	url := sqldbtest.URL(t)
	c := apptest.StoppedClock(noon)
	var nodes [2]*oauth.Keys
	for i := range nodes {
		nodes[i] = &oauth.Keys{DB: sqldbtest.OpenWith(t, url, sqldb.Options{}), Sealer: testSealer(t), Now: c.Now}
	}
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			if _, err := nodes[i%2].Sign(t.Context(), []oauth.Alg{oauth.ES256, oauth.RS256}[i/2%2], "x"); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	for _, alg := range []oauth.Alg{oauth.RS256, oauth.ES256} {
		a, b := signer(t, nodes[0], alg), signer(t, nodes[1], alg)
		if a != b {
			t.Errorf("the nodes sign %s with %s and %s", alg, a, b)
		}
		if got := states(t, nodes[0], alg); len(got) != 2 || !strings.HasPrefix(got[0], "active") || !strings.HasPrefix(got[1], "next") {
			t.Errorf("keys of %s: %q", alg, got)
		}
	}
	set, err := nodes[0].Published(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range set.Keys {
		if pub, ok := key.Key.(*rsa.PublicKey); ok && pub.N.BitLen() != 2048 {
			t.Errorf("an RSA key has %d bits", pub.N.BitLen())
		}
	}
}

// TestRotateAtOnce: nodes rotate simultaneously; one succeeds, the others get an error.
func TestRotateAtOnce(t *testing.T) {
	url := sqldbtest.URL(t)
	c := apptest.StoppedClock(noon)
	var nodes [2]*oauth.Keys
	for i := range nodes {
		nodes[i] = &oauth.Keys{DB: sqldbtest.OpenWith(t, url, sqldb.Options{}), Sealer: testSealer(t), Now: c.Now}
		signer(t, nodes[i], oauth.ES256)
	}
	var done sync.WaitGroup
	var refused atomic.Int64
	for i := range 6 {
		done.Go(func() {
			if _, err := nodes[i%2].Rotate(t.Context(), theOperator, oauth.ES256, false); fault.Is(err, "rotation_pending") {
				refused.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if got := states(t, nodes[0], oauth.ES256); refused.Load() != 5 || len(got) != 3 {
		t.Errorf("%d of 6 rotations were refused; keys %q", refused.Load(), got)
	}
}

// TestOtherNodeNotices: a node sees another's change within a second, and does not query the
// database before.
func TestOtherNodeNotices(t *testing.T) {
	w := newHarness(t)
	other := &oauth.Keys{DB: w.DB, Sealer: w.Sealer, Now: w.Now}
	a := signer(t, other, oauth.ES256)
	if err := other.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Keys.Rotate(t.Context(), theOperator, oauth.ES256, true); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second - 1)
	if got := signer(t, other, oauth.ES256); got != a {
		t.Errorf("%s signs, want the key that was read before", got)
	}
	w.clock.Advance(1)
	if got, want := signer(t, other, oauth.ES256), signer(t, w.Keys, oauth.ES256); got != want || got == a {
		t.Errorf("%s signs, on the other node %s", got, want)
	}
}

// TestKeysAreSealed: stored keys are useless without the secret key.
func TestKeysAreSealed(t *testing.T) {
	w := newHarness(t)
	signer(t, w.Keys, oauth.ES256)
	sealed, err := sqldb.All(t.Context(), w.DB, sqldb.Value[string], `SELECT sealed FROM oauth_keys`)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sealed {
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil || strings.Contains(string(raw), "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07") {
			t.Errorf("a stored key names its curve, or is not sealed: %v", err)
		}
	}
	wrong, err := secret.NewSealer([]byte(strings.Repeat("x", secret.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	other := &oauth.Keys{DB: w.DB, Sealer: wrong, Now: w.Now}
	if _, err := other.Sign(t.Context(), oauth.ES256, "x"); err == nil || fault.Of(err) != nil {
		t.Errorf("with another secret key: %v", err)
	}
	// A sealed key does not open in another's row.
	w.Exec(`UPDATE oauth_keys SET sealed = $1`, sealed[0])
	moved := &oauth.Keys{DB: w.DB, Sealer: w.Sealer, Now: w.Now}
	if _, err := moved.Sign(t.Context(), oauth.ES256, "x"); err == nil {
		t.Error("a key opened in the row of another")
	}
}

func testSealer(t testing.TB) *secret.Sealer {
	t.Helper()
	s, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
