package account_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// read is something that is looked up in a table.
type read struct {
	name, table string
	do          func() error
}

// TestFailedReads: whatever cannot be read is an error, and neither a right nor a refusal.
// Each is tried without one of its tables.
func TestFailedReads(t *testing.T) {
	d := open(t)
	ann, secret, _ := d.enrolled(t, "ann@market.example")
	key := &accounttest.Passkey{Origin: d.PublicURL}
	ann, _ = d.addPasskey(t, ann, key)
	ann = d.setRole(t, ann.ID, account.RoleAdmin)
	for _, r := range append(d.readsOfPeople(t, ann), d.readsOfProofs(t, ann, key, secret)...) {
		if err := r.do(); err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		d.exec(t, `ALTER TABLE `+r.table+` RENAME TO away`)
		err := r.do()
		if err == nil || fault.Of(err) != nil || errors.Is(err, sqldb.ErrNone) {
			t.Errorf("%s without the table %s: %v", r.name, r.table, err)
		}
		d.exec(t, `ALTER TABLE away RENAME TO `+r.table)
	}
}

func (d *harness) readsOfPeople(t *testing.T, ann account.User) []read {
	t.Helper()
	buyer := d.create(t, account.Person{Email: "buyer@example.com"})
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	if err := store.Commit("key", []byte("x"), d.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	find := func(ctx context.Context) func() error {
		return func() error { return errorOf2(store.FindCtx(ctx, "key")) }
	}
	pruneAll := func() error { return errorOf(prune.Rows(ctx, d.DB, d.now, account.Expiring())) }
	return []read{
		{"a user", "users", func() error { return errorOf(d.Get(ctx, ann.ID)) }},
		{"users", "users", func() error { return errorOf(d.Users(ctx, []int64{ann.ID})) }},
		{"names", "users", func() error { return errorOf(d.Names(ctx, []int64{ann.ID})) }},
		{"addresses", "users", func() error { return errorOf(account.Emails(ctx, d.DB, []int64{ann.ID})) }},
		{"data", "users", func() error { return errorOf(d.Data(ctx, ann.ID)) }},
		{"a list of users", "users", func() error { return errorOf2(d.List(ctx, account.Filter{}, paging.First())) }},
		{"a page of users", "users", func() error { return errorOf2(d.Before(ctx, account.Filter{}, 0, 10)) }},
		{"the erased", "users", func() error { return errorOf(d.Erased(ctx)) }},
		{"operators", "users", func() error { return errorOf(d.Operators(ctx)) }},
		{"an operator", "users", func() error { return errorOf(d.Operator(ctx, ann.ID)) }},
		{"a role", "users", func() error { return errorOf(account.RoleOf(ctx, d.DB, ann.ID)) }},
		{"access", "users", func() error { return errorOf(d.AccessVersions(ctx, []int64{ann.ID})) }},
		{"what a person may", "users", func() error { return errorOf(d.MayStill(ctx, by(ann), account.Read)) }},
		{"who may assist", "users", func() error { return d.MayAssist(ctx, by(ann), ann) }},
		{"who may be assisted", "invitations", func() error { return d.MayAssist(ctx, operator, buyer) }},
		{"sessions", "signed_sessions", func() error { return errorOf(d.SessionsOf(ctx, ann)) }},
		{"a session", "sessions", find(ctx)},
		{"a session and its user", "signed_sessions", find(account.WithHolder(ctx))},
		{"old links", "login_links", func() error { return pruneAll() }},
		{"old sign-ups", "users", func() error { return pruneAll() }},
		{"old sessions", "sessions", func() error { return pruneAll() }},
		{"who was signed in", "signed_sessions", func() error { return pruneAll() }},
		{"old challenges", "used_challenges", func() error { return pruneAll() }},
		{"old tries", "password_tries", func() error { return pruneAll() }},
		{"requests", "link_requests", func() error { return errorOf((&account.LinkMailer{Store: d.Store}).Round(ctx)) }},
	}
}

func (d *harness) readsOfProofs(t *testing.T, ann account.User, key *accounttest.Passkey, secret string) []read {
	t.Helper()
	ctx := t.Context()
	made, value, err := d.AddToken(ctx, operator, "shop", []account.Scope{account.Read}, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	email := d.askEmail(t, ann, "new@market.example")
	link := d.ask(t, account.ForSignIn, ann.Email)
	signIn := func() error { return errorOf(d.SignIn(ctx, ann.Email, "correct horse", account.Client{})) }
	confirm := func() error { return d.ConfirmPassword(ctx, by(ann), ann.ID, "correct horse") }
	code := func() error {
		d.now = d.now.Add(time.Minute)
		return d.ConfirmCode(ctx, by(ann), ann.ID, d.code(t, secret, 0))
	}
	byToken := audit.Actor{Kind: audit.ByToken, ID: made.ID}
	factors := func() error { return errorOf(d.Factors(ctx, ann.ID)) }
	passkey := func() error { return errorOf(d.byPasskey(t, key)) }
	proof := func() error { return errorOf(d.BeginPasskeyProof(ctx, ann.ID)) }
	return []read{
		{"tokens", "operator_tokens", func() error { return errorOf(d.Tokens(ctx)) }},
		{"a token", "operator_tokens", func() error { return errorOf(d.ByToken(ctx, value)) }},
		{"what a token may", "operator_tokens", func() error {
			return errorOf(d.MayStill(ctx, byToken, account.Read))
		}},
		{"which tokens work", "operator_tokens", func() error {
			return d.DB.Read(ctx, func(tx *sqldb.Tx) error {
				return account.QueueTokenCheck(tx, []int64{made.ID}, d.now).Check(ctx, made.ID)
			})
		}},
		{"one-time codes", "totp_secrets", factors},
		{"passkeys", "passkeys", factors},
		{"recovery codes", "recovery_codes", factors},
		{"passkeys to exclude", "passkeys", func() error { return errorOf(d.BeginPasskey(ctx, ann)) }},
		{"passkeys to prove by", "passkeys", proof},
		{"who proves by passkey", "users", proof},
		{"the passkey of an answer", "passkeys", passkey},
		{"who answers by passkey", "users", passkey},
		{"who signs in", "users", signIn},
		{"tries to sign in", "password_tries", signIn},
		{"who confirms by password", "users", confirm},
		{"tries to confirm", "password_tries", confirm},
		{"tries of codes", "password_tries", code},
		{"who confirms by code", "totp_secrets", code},
		{"a link", "login_links", func() error { return errorOf(d.PeekLink(ctx, link)) }},
		{"whose link it is", "users", func() error { return errorOf(d.PeekLink(ctx, link)) }},
		{"a link of an address", "login_links", func() error { return errorOf(d.NewEmail(ctx, ann.ID, email)) }},
	}
}
