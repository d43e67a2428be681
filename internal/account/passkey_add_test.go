package account_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// beginPasskey is a challenge that registers a passkey of a user, and the answer of a new one.
func (d *harness) beginPasskey(t *testing.T, u account.User) (account.Ceremony, []byte) {
	t.Helper()
	c, err := d.BeginPasskey(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return c, (&accounttest.Passkey{Origin: d.PublicURL}).Register(t, c.Options)
}

// copied is the answer to the challenge of another answer, with the passkey of the first.
func copied(t *testing.T, passkey, challenge []byte) []byte {
	t.Helper()
	var answers [2]map[string]any
	for i, text := range [][]byte{passkey, challenge} {
		if err := json.Unmarshal(text, &answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	response := maps.Clone(answers[0]["response"].(map[string]any))
	response["clientDataJSON"] = answers[1]["response"].(map[string]any)["clientDataJSON"]
	answers[0]["response"] = response
	text, err := json.Marshal(answers[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAddPasskeyOnce: a challenge registers one passkey, within its time, in the session
// that asked for it, and a passkey belongs to one account.
func TestAddPasskeyOnce(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	bob := d.withPassword(t, "bob@example.com", "correct horse")
	add := func(u account.User, state string, answer []byte, name string) error {
		_, _, err := d.AddPasskey(t.Context(), by(u), u, state, answer, name)
		return err
	}
	c, answer := d.beginPasskey(t, ann)
	refused(t, "without a name", add(ann, c.State, answer, ""), "invalid_field")
	refused(t, "with a long name", add(ann, c.State, answer, strings.Repeat("n", 61)), "invalid_field")
	refused(t, "an answer that cannot be read", add(ann, c.State, []byte("{}"), "Phone"), account.CodeInvalidPasskey)
	old := ann
	ann, _, err := d.AddPasskey(t.Context(), by(ann), ann, c.State, answer, "P")
	if err != nil {
		t.Fatal(err)
	}
	again := (&accounttest.Passkey{Origin: d.PublicURL}).Register(t, c.Options)
	refused(t, "another passkey for the same challenge", add(ann, c.State, again, "Copy"), account.CodeInvalidPasskey)
	for name, u := range map[string]account.User{"of the same account": ann, "of another account": bob} {
		c, other := d.beginPasskey(t, u)
		refused(t, "a passkey "+name, add(u, c.State, copied(t, answer, other), "Copy"), account.CodeInvalidPasskey)
		if err := add(u, c.State, other, "Another"); err != nil {
			t.Errorf("a new passkey %s: %v", name, err)
		}
	}
	c, answer = d.beginPasskey(t, old)
	refused(t, "in a session that is over", add(old, c.State, answer, "Phone"), account.CodeStepOver)
	if ann, err = d.Get(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	c, answer = d.beginPasskey(t, ann)
	d.now = d.now.Add(5*time.Minute + 1)
	if err = add(ann, c.State, answer, "Phone"); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("after its time: %v", err)
	}
	if f, err := d.Factors(t.Context(), ann.ID); err != nil || len(f.Passkeys) != 2 {
		t.Errorf("Ann has %+v, %v", f, err)
	}
}

// TestPasskeysAreBounded to 20 of a user. What a device attests about itself is not stored.
func TestPasskeysAreBounded(t *testing.T) {
	d := open(t)
	u, _ := d.passkey(t, "ann@example.com", 0)
	for range 19 {
		u, _ = d.addPasskey(t, u, &accounttest.Passkey{Origin: d.PublicURL})
	}
	c, answer := d.beginPasskey(t, u)
	_, _, err := d.AddPasskey(t.Context(), by(u), u, c.State, answer, "One more")
	refused(t, "one more than 20", err, "too_many_passkeys")
	list, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT credential FROM passkeys`)
	if err != nil || len(list) != 20 {
		t.Fatalf("%d passkeys, %v", len(list), err)
	}
	for _, credential := range list {
		var stored struct{ Attestation map[string]any }
		if err := json.Unmarshal([]byte(credential), &stored); err != nil {
			t.Fatal(err)
		}
		for name, value := range stored.Attestation {
			if value != nil && value != "" && value != 0.0 {
				t.Errorf("stored of the attestation: %s %v", name, value)
			}
		}
	}
}

// TestAnsweredChallengesAreKept until no clock takes them for valid: a node whose clock is
// five minutes ahead may have made one, which then works for five minutes by that clock.
func TestAnsweredChallengesAreKept(t *testing.T) {
	d := open(t)
	_, key := d.passkey(t, "ann@example.com", 0)
	begun := d.now
	d.now = begun.Add(5 * time.Minute)
	c := d.signInChallenge(t)
	answer := key.Answer(t, c.Options)
	signIn := func(ahead time.Duration) error {
		d.now = begun.Add(ahead)
		if _, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); err != nil {
			t.Fatal(err)
		}
		return errorOf(d.PasskeySignIn(t.Context(), c.State, answer, account.Client{}))
	}
	refused(t, "too early", signIn(-1), account.CodeInvalidPasskey)
	if err := signIn(0); err != nil {
		t.Fatal(err)
	}
	refused(t, "again, as late as it works", signIn(10*time.Minute), account.CodeInvalidPasskey)
	d.now = begun.Add(10*time.Minute + 1)
	// The other one is the challenge that registered the passkey.
	if n, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); err != nil || n != 2 {
		t.Errorf("removed %d challenges, %v", n, err)
	}
}
