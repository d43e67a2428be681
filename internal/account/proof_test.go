package account_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// TestPasskeyProofIsVerified checks that the second step and a confirmation need a signature of the
// sent challenge, on this site, by a passkey of the user.
func TestPasskeyProofIsVerified(t *testing.T) {
	d := open(t)
	ann, key := d.passkey(t, "ann@example.com", 0)
	evil := *key
	evil.Origin = "https://evil.example"
	stranger := &accounttest.Passkey{Origin: d.PublicURL} // never added to an account
	begun, err := d.BeginPasskey(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	stranger.Register(t, begun.Options)
	proof := func() account.Ceremony {
		c, err := d.BeginPasskeyProof(t.Context(), ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	other := proof()
	for name, answer := range map[string]func(c account.Ceremony) []byte{
		"on another site":        func(c account.Ceremony) []byte { return evil.Answer(t, c.Options) },
		"to another challenge":   func(account.Ceremony) []byte { return key.Answer(t, other.Options) },
		"by an unknown passkey":  func(c account.Ceremony) []byte { return stranger.Answer(t, c.Options) },
		"that cannot be read":    func(account.Ceremony) []byte { return []byte(`{"id":1}`) },
		"with another signature": func(c account.Ceremony) []byte { return resigned(t, key.Answer(t, c.Options)) },
	} {
		c := proof()
		_, err := d.PasskeyStep(t.Context(), first(ann), c.State, answer(c), account.Client{})
		refused(t, "a second step "+name, err, account.CodeInvalidPasskey)
		c = proof()
		refused(t, "a confirmation "+name, d.ConfirmPasskey(t.Context(), by(ann), ann.ID, c.State, answer(c)), account.CodeInvalidPasskey)
		c = d.signInChallenge(t)
		_, err = d.PasskeySignIn(t.Context(), c.State, answer(c), account.Client{})
		refused(t, "a sign-in "+name, err, account.CodeInvalidPasskey)
	}
	none := d.create(t, account.Person{Email: "bob@example.com"})
	_, err = d.BeginPasskeyProof(t.Context(), none.ID)
	refused(t, "a challenge for no passkey", err, account.CodeUnknownPasskey)
	_, err = d.BeginPasskeyProof(t.Context(), 999)
	refused(t, "a challenge for nobody", err, account.CodeUnknownUser)
	c, public := d.signInChallenge(t), d.PublicURL
	sent := key.Answer(t, c.Options)
	d.PublicURL = "http://market.example" // where browsers allow no passkey
	_, err = d.PasskeySignIn(t.Context(), c.State, sent, account.Client{})
	refused(t, "a sign-in at another address", err, account.CodeInvalidPasskey)
	_, err = d.BeginPasskeyProof(t.Context(), ann.ID)
	refused(t, "a challenge at another address", err, account.CodeInvalidPasskey)
	d.PublicURL = public
}

// resigned returns the answer with one byte of its signature changed.
func resigned(t *testing.T, answer []byte) []byte {
	t.Helper()
	const mark = `"signature":"`
	before, after, ok := strings.Cut(string(answer), mark)
	if !ok {
		t.Fatalf("no signature in %s", answer)
	}
	middle := byte('A')
	if after[20] == middle {
		middle = 'B'
	}
	return []byte(before + mark + after[:20] + string(middle) + after[21:])
}

// TestProofsAreAudited checks that the audit records the method of each sign-in and confirmation.
func TestProofsAreAudited(t *testing.T) {
	d := open(t)
	u, secret, codes := d.enrolled(t, "ann@example.com")
	key := &accounttest.Passkey{Origin: d.PublicURL}
	u, _ = d.addPasskey(t, u, key)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := d.SecondStep(t.Context(), first(u), d.code(t, secret, 0), account.Client{})
	must(err)
	must(d.ConfirmCode(t.Context(), by(u), u.ID, codes[0]))
	must(d.ConfirmPassword(t.Context(), by(u), u.ID, "correct horse"))
	_, err = d.byPasskey(t, key)
	must(err)
	for range 2 {
		c, err := d.BeginPasskeyProof(t.Context(), u.ID)
		must(err)
		_, err = d.PasskeyStep(t.Context(), first(u), c.State, key.Answer(t, c.Options), account.Client{})
		must(err)
	}
	c, err := d.BeginPasskeyProof(t.Context(), u.ID)
	must(err)
	must(d.ConfirmPasskey(t.Context(), by(u), u.ID, c.State, key.Answer(t, c.Options)))
	_, err = d.SignIn(t.Context(), "ann@example.com", "correct horse", account.Client{})
	must(err)
	got, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string],
		`SELECT action || ' ' || after FROM audit_entries WHERE action IN ('user.sign_in', 'user.confirm') ORDER BY id`)
	must(err)
	want := []string{
		`user.sign_in {"by":"link","purpose":"sign-up"}`,
		`user.sign_in {"by":"code"}`, `user.confirm {"by":"recovery code"}`, `user.confirm {"by":"password"}`, `user.sign_in {"by":"passkey"}`,
		`user.sign_in {"by":"passkey"}`, `user.sign_in {"by":"passkey"}`, `user.confirm {"by":"passkey"}`,
		`user.sign_in {"by":"password","second_step":"awaited"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("audited\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, action := range []string{"user.totp_add user:1", "user.passkey_add user:1"} {
		if !slices.Contains(d.actions(t), action) {
			t.Errorf("%s is not audited: %q", action, d.actions(t))
		}
	}
}

// TestRightPasswordsAreNotCounted checks that right passwords do not use up the tries.
func TestRightPasswordsAreNotCounted(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	bob := d.withPassword(t, "bob@example.com", "correct horse")
	confirm := func(u account.User, typed string) error { return d.ConfirmPassword(t.Context(), by(u), u.ID, typed) }
	var err error
	tries := 0
	for ; !fault.Is(err, account.CodeTooManyTries) && tries < 1000; tries++ {
		err = confirm(bob, "wrong")
	}
	if tries == 1000 {
		t.Fatal("wrong passwords are not bounded")
	}
	refused(t, "the right one after too many", confirm(bob, "correct horse"), account.CodeTooManyTries)
	for range tries + 1 {
		if err := confirm(ann, "correct horse"); err != nil {
			t.Fatalf("of somebody else: %v", err)
		}
	}
}

// TestAllFactorsAreRemoved checks that passkeys and codes are removed, and the user signs in
// without them.
func TestAllFactorsAreRemoved(t *testing.T) {
	d := open(t)
	u, key := d.passkey(t, "ann@example.com", 0)
	d.write(t, func(tx *sqldb.Tx) error {
		_, err := d.RemoveFactors(t.Context(), tx, operator, u.ID, d.now)
		return err
	})
	if f, err := d.Factors(t.Context(), u.ID); err != nil || f.Any() {
		t.Errorf("left: %+v, %v", f, err)
	}
	_, err := d.byPasskey(t, key)
	refused(t, "a removed passkey", err, account.CodeInvalidPasskey)
	if u, err = d.Get(t.Context(), u.ID); err != nil || u.SecondFactor {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestRequirement(t *testing.T) {
	for _, c := range []struct {
		r    account.Requirement
		role account.Role
		want bool
	}{
		{account.RequireNone, account.RoleAdmin, false},
		{account.RequireAdmins, account.RoleAdmin, true},
		{account.RequireAdmins, account.RoleSupport, false},
		{account.RequireOperators, account.RoleAdmin, true},
		{account.RequireOperators, account.RoleViewer, true},
		{account.RequireOperators, "", false},
	} {
		if got := c.r.Of(account.User{Role: c.role}); got != c.want {
			t.Errorf("%s of the role %q: %v", c.r, c.role, got)
		}
	}
}

// TestMayStill checks that long-running work ends with the right to it.
func TestMayStill(t *testing.T) {
	d := open(t)
	admin := d.admins(t, "ann@market.example", "bea@market.example")[0]
	buyer := d.create(t, account.Person{Email: "buyer@example.com"})
	add := func(scopes []account.Scope, until time.Time) audit.Actor {
		k, _, err := d.AddToken(t.Context(), operator, "t", scopes, until, "")
		if err != nil {
			t.Fatal(err)
		}
		return audit.Actor{Kind: audit.ByToken, ID: k.ID}
	}
	sells, ends := add([]account.Scope{account.Sell}, time.Time{}), add([]account.Scope{account.Sell}, d.now.Add(time.Hour))
	revoked := add([]account.Scope{account.Sell}, time.Time{})
	if _, err := d.RevokeToken(t.Context(), operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	check := func(name string, by audit.Actor, s account.Scope, want bool) {
		t.Helper()
		if may, err := d.MayStill(t.Context(), by, s); may != want || err != nil {
			t.Errorf("%s: %v, %v", name, may, err)
		}
	}
	check("a token with the scope", sells, account.Sell, true)
	check("a token without it", sells, account.Support, false)
	check("a token that ends later", ends, account.Sell, true)
	check("a revoked token", revoked, account.Sell, false)
	check("no token", audit.Actor{Kind: audit.ByToken, ID: 99}, account.Sell, false)
	check("an admin", by(admin), account.Sell, true)
	check("a buyer", by(buyer), account.Read, false)
	check("nobody", audit.Actor{Kind: audit.ByUser, ID: 99}, account.Read, false)
	check("a partner", audit.Actor{Kind: audit.ByPartner, ID: 1}, account.Read, false)
	check("the service", audit.System("jobs"), account.Admin, true)
	d.now = d.now.Add(time.Hour)
	check("a token that has ended", ends, account.Sell, false)
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, admin.ID, d.now)
		return err
	})
	check("an erased admin", by(admin), account.Sell, false)
	d.checkTokens(t, map[int64]bool{sells.ID: true, ends.ID: false, revoked.ID: false, 99: false})
	if _, err := d.Operator(t.Context(), buyer.ID); !fault.Is(err, "unknown_operator") {
		t.Errorf("a buyer in the team: %v", err)
	}
}

// checkTokens checks many tokens in one query.
func (d *harness) checkTokens(t *testing.T, want map[int64]bool) {
	t.Helper()
	var ids []int64
	for id := range want {
		ids = append(ids, id)
	}
	err := d.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		c := account.QueueTokenCheck(tx, ids, d.now)
		for id, works := range want {
			if err := c.Check(t.Context(), id); (err == nil) != works {
				t.Errorf("token %d: %v, want that it works: %v", id, err, works)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestEndOneSession checks that the other sessions continue, and that the audit names the ended
// one.
func TestEndOneSession(t *testing.T) {
	d := open(t)
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	ann, bob := d.create(t, account.Person{Email: "ann@example.com"}), d.create(t, account.Person{Email: "bob@example.com"})
	begin := func(u account.User, key string) {
		t.Helper()
		if err := store.CommitCtx(t.Context(), key, []byte("x"), d.now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := d.NoteSession(t.Context(), key, account.NewSession{UserID: u.ID, Epoch: u.SessionEpoch, BegunAt: d.now}); err != nil {
			t.Fatal(err)
		}
	}
	begin(ann, "one")
	begin(ann, "two")
	begin(bob, "his")
	open := func(key string) bool {
		_, found, err := store.FindCtx(context.WithoutCancel(t.Context()), key)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if err := d.EndSession(t.Context(), by(ann), ann, account.SessionID("his")); err == nil || !open("his") {
		t.Errorf("the session of somebody else: %v", err)
	}
	if err := d.EndSession(t.Context(), by(ann), ann, account.SessionID("two")); err != nil || open("two") || !open("one") || !open("his") {
		t.Errorf("ended: %v; open: %v, %v, %v", err, open("two"), open("one"), open("his"))
	}
	if err := d.EndSession(t.Context(), by(ann), ann, account.SessionID("two")); err == nil {
		t.Error("a session ended twice")
	}
	n := 0
	for _, action := range d.actions(t) {
		if action == "user.session_end user:1" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d audit entries: %q", n, d.actions(t))
	}
}
