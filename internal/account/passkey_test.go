package account_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
)

// passkey makes a user with a passkey whose signature counter starts at count.
func (d *harness) passkey(t *testing.T, email string, count uint32) (account.User, *accounttest.Passkey) {
	t.Helper()
	u := d.withPassword(t, email, "correct horse")
	key := &accounttest.Passkey{Origin: d.PublicURL, Count: count}
	u, _ = d.addPasskey(t, u, key)
	return u, key
}

func (d *harness) addPasskey(t *testing.T, u account.User, key *accounttest.Passkey) (account.User, []string) {
	t.Helper()
	c, err := d.BeginPasskey(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	u, codes, err := d.AddPasskey(t.Context(), by(u), u, c.State, key.Register(t, c.Options), "Phone")
	if err != nil {
		t.Fatal(err)
	}
	return u, codes
}

// signInChallenge returns a challenge for any passkey.
func (d *harness) signInChallenge(t *testing.T) account.Ceremony {
	t.Helper()
	c, err := d.BeginPasskeySignIn()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// byPasskey signs in by a passkey.
func (d *harness) byPasskey(t *testing.T, key *accounttest.Passkey) (account.User, error) {
	t.Helper()
	c := d.signInChallenge(t)
	return d.PasskeySignIn(t.Context(), c.State, key.Answer(t, c.Options), account.Client{})
}

// TestPasskeyChallenge checks that a challenge is answered once, with or without a counter, before
// it expires, and only by the session that received it.
func TestPasskeyChallenge(t *testing.T) {
	d := open(t)
	u, key := d.passkey(t, "ann@example.com", 0) // a device without a counter
	c := d.signInChallenge(t)
	answer := key.Answer(t, c.Options)
	got, err := d.PasskeySignIn(t.Context(), c.State, answer, account.Client{})
	if err != nil || got.ID != u.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = d.PasskeySignIn(t.Context(), c.State, answer, account.Client{})
	refused(t, "the same answer again", err, account.CodeInvalidPasskey)
	_, err = d.PasskeySignIn(t.Context(), c.State, key.Answer(t, c.Options), account.Client{})
	refused(t, "another answer to the same challenge", err, account.CodeInvalidPasskey)
	_, err = d.PasskeySignIn(t.Context(), d.signInChallenge(t).State, answer, account.Client{})
	refused(t, "the answer to another challenge", err, account.CodeInvalidPasskey)
	_, err = d.PasskeySignIn(t.Context(), "", answer, account.Client{})
	refused(t, "without a challenge", err, account.CodeInvalidPasskey)
	if err != nil && !strings.Contains(err.Error(), "no challenge was sent") {
		t.Errorf("the log says of an answer without a challenge: %v", err)
	}

	late := d.signInChallenge(t)
	d.now = d.now.Add(5*time.Minute + time.Second)
	_, err = d.PasskeySignIn(t.Context(), late.State, key.Answer(t, late.Options), account.Client{})
	refused(t, "after its time", err, account.CodeInvalidPasskey)
	d.now = d.now.Add(-time.Second)
	if _, err := d.PasskeySignIn(t.Context(), late.State, key.Answer(t, late.Options), account.Client{}); err != nil {
		t.Errorf("in its last second: %v", err)
	}
	_, err = d.PasskeySignIn(t.Context(), c.State, answer, account.Client{})
	refused(t, "the first answer, later", err, account.CodeInvalidPasskey)
}

// TestPasskeyAnswersAtOnce checks that one answer, sent many times concurrently to several nodes,
// works once.
func TestPasskeyAnswersAtOnce(t *testing.T) {
	d := open(t)
	_, key := d.passkey(t, "ann@example.com", 0)
	c := d.signInChallenge(t)
	answer := key.Answer(t, c.Options)
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() {
			node := &account.Store{DB: d.DB, Now: d.Now, PublicURL: d.PublicURL, Sealer: d.Sealer, Mail: d.Mail}
			_, results[i] = node.PasskeySignIn(t.Context(), c.State, answer, account.Client{})
		})
	}
	wg.Wait()
	if in := len(slices.DeleteFunc(results, func(err error) bool { return err != nil })); in != 1 {
		t.Errorf("%d got in with one answer", in)
	}
}

// TestPasskeyCounter checks that a counter that does not rise is refused as a copy.
func TestPasskeyCounter(t *testing.T) {
	d := open(t)
	_, key := d.passkey(t, "ann@example.com", 7)
	for _, c := range []struct {
		count uint32
		code  string
	}{{7, account.CodePasskeyCloned}, {8, ""}, {8, account.CodePasskeyCloned}, {3, account.CodePasskeyCloned}, {0, account.CodePasskeyCloned}, {9, ""}} {
		key.Count = c.count
		_, err := d.byPasskey(t, key)
		switch {
		case c.code != "":
			refused(t, "a count that does not rise", err, c.code)
		case err != nil:
			t.Errorf("count %d: %v", c.count, err)
		}
	}
	audited := d.actions(t)
	if n := len(slices.DeleteFunc(audited, func(s string) bool { return s != "user.passkey_refused user:1" })); n != 4 {
		t.Errorf("%d refusals were audited", n)
	}
}

// TestPasskeyOfAnother checks that a passkey proves its own account and no other.
func TestPasskeyOfAnother(t *testing.T) {
	d := open(t)
	ann, anns := d.passkey(t, "ann@example.com", 0)
	bob, bobs := d.passkey(t, "bob@example.com", 0)
	proofOf := func(u account.User) account.Ceremony {
		c, err := d.BeginPasskeyProof(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	proof := func() account.Ceremony { return proofOf(ann) }
	// Bob answers the last one correctly, but in place of Ann.
	for name, challenge := range map[string]func() account.Ceremony{
		"a challenge of hers": proof, "one for anybody": func() account.Ceremony { return d.signInChallenge(t) }, "one of his own": func() account.Ceremony { return proofOf(bob) },
	} {
		c := challenge()
		_, err := d.PasskeyStep(t.Context(), first(ann), c.State, bobs.Answer(t, c.Options), account.Client{})
		refused(t, "the step of Ann by Bob's, to "+name, err, account.CodeInvalidPasskey)
		c = challenge()
		err = d.ConfirmPasskey(t.Context(), by(ann), ann.ID, c.State, bobs.Answer(t, c.Options))
		refused(t, "Ann confirmed by Bob's, to "+name, err, account.CodeInvalidPasskey)
	}
	c := proof()
	if _, err := d.PasskeyStep(t.Context(), first(ann), c.State, anns.Answer(t, c.Options), account.Client{}); err != nil {
		t.Error(err)
	}
	c = proof()
	_, err := d.PasskeyStep(t.Context(), account.FirstStep{UserID: ann.ID, Epoch: ann.SessionEpoch - 1}, c.State, anns.Answer(t, c.Options), account.Client{})
	refused(t, "after a change of the account", err, account.CodeStepOver)
	begun, err := d.BeginPasskey(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.AddPasskey(t.Context(), by(ann), ann, begun.State, (&accounttest.Passkey{Origin: d.PublicURL}).Register(t, begun.Options), "Mine")
	refused(t, "a passkey of the challenge of somebody else", err, account.CodeInvalidPasskey)
	evil := *anns
	evil.Origin = "https://evil.example"
	_, err = d.byPasskey(t, &evil)
	refused(t, "used on another site", err, account.CodeInvalidPasskey)
}

// TestRenameAndRemovePasskey checks that users change only their own passkeys. A removed one no
// longer signs in, and its removal ends the sessions.
func TestRenameAndRemovePasskey(t *testing.T) {
	d := open(t)
	ann, anns := d.passkey(t, "ann@example.com", 0)
	bob, bobs := d.passkey(t, "bob@example.com", 0)
	f, err := d.Factors(t.Context(), bob.ID)
	if err != nil {
		t.Fatal(err)
	}
	id := f.Passkeys[0].ID
	refused(t, "Ann renames Bob's", d.RenamePasskey(t.Context(), by(ann), ann.ID, id, "Hers"), account.CodeUnknownPasskey)
	_, err = d.RemovePasskey(t.Context(), by(ann), ann.ID, id)
	refused(t, "Ann removes Bob's", err, account.CodeUnknownPasskey)
	if err := d.RenamePasskey(t.Context(), by(bob), bob.ID, id, "Laptop"); err != nil {
		t.Error(err)
	}
	if f, err := d.Factors(t.Context(), bob.ID); err != nil || len(f.Passkeys) != 1 || f.Passkeys[0].Name != "Laptop" {
		t.Errorf("%+v, %v", f, err)
	}
	bob = d.setRole(t, bob.ID, account.RoleAdmin)
	d.Require = account.RequireAdmins
	_, err = d.RemovePasskey(t.Context(), by(bob), bob.ID, id)
	refused(t, "the last one of an admin", err, account.CodeFactorRequired)
	d.Require = account.RequireNone
	after, err := d.RemovePasskey(t.Context(), by(bob), bob.ID, id)
	if err != nil || after.SecondFactor || after.SessionEpoch == bob.SessionEpoch {
		t.Fatalf("%+v, %v", after, err)
	}
	if got, err := d.Get(t.Context(), bob.ID); got != after || err != nil {
		t.Errorf("stored is %+v, %v; want %+v", got, err, after)
	}
	_, err = d.byPasskey(t, bobs)
	refused(t, "the removed one", err, account.CodeInvalidPasskey)
	if u, err := d.byPasskey(t, anns); err != nil || u.ID != ann.ID {
		t.Errorf("%+v, %v", u, err)
	}
	if got := d.actions(t); !slices.Contains(got, "user.passkey_rename user:2") || !slices.Contains(got, "user.passkey_remove user:2") || slices.Contains(got, "user.passkey_rename user:1") {
		t.Errorf("audited: %q", got)
	}
}
