package account_test

import (
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// inTransaction makes an act of a function that takes a transaction.
func (d *harness) inTransaction(t *testing.T, do func(tx *sqldb.Tx) error) act {
	t.Helper()
	return func() error { return d.DB.Write(t.Context(), do) }
}

func errorOf[T any](_ T, err error) error { return err }

func errorOf2[T, U any](_ T, _ U, err error) error { return err }

var passwordActs = prepared{
	"sign in": func(t *testing.T, d *harness) act {
		d.withPassword(t, "ann@example.com", "correct horse")
		return func() error {
			return errorOf(d.SignIn(t.Context(), "ann@example.com", "correct horse", account.Client{}))
		}
	},
	"confirm by password": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		return func() error { return d.ConfirmPassword(t.Context(), by(u), u.ID, "correct horse") }
	},
	"change a password": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		return func() error {
			return errorOf(d.ChangePassword(t.Context(), by(u), u.ID, "correct horse", "battery staple"))
		}
	},
	"reset a password": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		d.use(t, d.ask(t, account.ForReset, u.Email), "")
		return func() error { return errorOf(d.ResetPassword(t.Context(), by(u), u.ID, "battery staple")) }
	},
	"set a password": func(t *testing.T, d *harness) act {
		u := d.create(t, account.Person{Email: "ann@example.com"})
		hash, err := d.NewPassword(t.Context(), u.Email, "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		return d.inTransaction(t, func(tx *sqldb.Tx) error {
			return account.SetPassword(t.Context(), tx, operator, u.ID, hash, d.now)
		})
	},
	"sign out everywhere": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		return func() error { return errorOf(d.SignOutEverywhere(t.Context(), by(u), u.ID)) }
	},
}

var factorActs = prepared{
	"add one-time codes": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		e := d.EnrolTOTP(u)
		return func() error { return errorOf2(d.AddTOTP(t.Context(), by(u), u.ID, e.Sealed, d.code(t, e.Secret, 0))) }
	},
	"remove one-time codes": func(t *testing.T, d *harness) act {
		u, _, _ := d.enrolled(t, "ann@example.com")
		return func() error { return errorOf(d.RemoveTOTP(t.Context(), by(u), u.ID)) }
	},
	"second step by one-time code": func(t *testing.T, d *harness) act {
		u, secret, _ := d.enrolled(t, "ann@example.com")
		return func() error {
			return errorOf(d.SecondStep(t.Context(), first(u), d.code(t, secret, 0), account.Client{}))
		}
	},
	"second step by recovery code": func(t *testing.T, d *harness) act {
		u, _, codes := d.enrolled(t, "ann@example.com")
		return func() error { return errorOf(d.SecondStep(t.Context(), first(u), codes[0], account.Client{})) }
	},
	"confirm by one-time code": func(t *testing.T, d *harness) act {
		u, secret, _ := d.enrolled(t, "ann@example.com")
		return func() error { return d.ConfirmCode(t.Context(), by(u), u.ID, d.code(t, secret, 0)) }
	},
	"new recovery codes": func(t *testing.T, d *harness) act {
		u, _, _ := d.enrolled(t, "ann@example.com")
		return func() error { return errorOf2(d.NewRecoveryCodes(t.Context(), by(u), u.ID)) }
	},
	"remove factors": func(t *testing.T, d *harness) act {
		u, _, _ := d.enrolled(t, "ann@example.com")
		return d.inTransaction(t, func(tx *sqldb.Tx) error {
			return errorOf(d.RemoveFactors(t.Context(), tx, operator, u.ID, d.now))
		})
	},
}

var passkeyActs = prepared{
	"add a passkey": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		c, err := d.BeginPasskey(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		answer := (&accounttest.Passkey{Origin: d.PublicURL}).Register(t, c.Options)
		return func() error { return errorOf2(d.AddPasskey(t.Context(), by(u), u, c.State, answer, "Phone")) }
	},
	"rename a passkey": func(t *testing.T, d *harness) act {
		u, _ := d.passkey(t, "ann@example.com", 0)
		return func() error { return d.RenamePasskey(t.Context(), by(u), u.ID, 1, "Laptop") }
	},
	"remove a passkey": func(t *testing.T, d *harness) act {
		u, _ := d.passkey(t, "ann@example.com", 0)
		return func() error { return errorOf(d.RemovePasskey(t.Context(), by(u), u.ID, 1)) }
	},
	"sign in by passkey": func(t *testing.T, d *harness) act {
		_, key := d.passkey(t, "ann@example.com", 0)
		c := d.signInChallenge(t)
		answer := key.Answer(t, c.Options)
		return func() error { return errorOf(d.PasskeySignIn(t.Context(), c.State, answer, account.Client{})) }
	},
	"second step by passkey": func(t *testing.T, d *harness) act {
		u, key := d.passkey(t, "ann@example.com", 0)
		c, err := d.BeginPasskeyProof(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		answer := key.Answer(t, c.Options)
		return func() error { return errorOf(d.PasskeyStep(t.Context(), first(u), c.State, answer, account.Client{})) }
	},
}

var linkActs = prepared{
	"sign up": func(t *testing.T, d *harness) act {
		bob := account.Person{Email: "bob@example.com"}
		return func() error {
			return errorOf(d.SignUp(t.Context(), bob, "correct horse", "", account.Client{}))
		}
	},
	"sign up by a known address": func(t *testing.T, d *harness) act {
		bob := account.Person{Email: "bob@example.com"}
		d.withPassword(t, bob.Email, "battery staple")
		return func() error {
			return errorOf(d.SignUp(t.Context(), bob, "correct horse", "", account.Client{}))
		}
	},
	"ask for a link": func(t *testing.T, d *harness) act {
		return func() error { return d.SendLink(t.Context(), "ann@example.com", "") }
	},
	"mail a link": func(t *testing.T, d *harness) act {
		d.create(t, account.Person{Email: "ann@example.com"})
		if err := d.SendLink(t.Context(), "ann@example.com", ""); err != nil {
			t.Fatal(err)
		}
		return func() error { return errorOf((&account.LinkMailer{Store: d.Store}).Round(t.Context())) }
	},
	"make a link": func(t *testing.T, d *harness) act {
		u := d.create(t, account.Person{Email: "ann@example.com"})
		return func() error { return errorOf2(d.Link(t.Context(), operator, u.ID, "")) }
	},
	"use a link": func(t *testing.T, d *harness) act {
		d.create(t, account.Person{Email: "ann@example.com"})
		value := d.ask(t, account.ForSignIn, "ann@example.com")
		return func() error { return errorOf(d.UseLink(t.Context(), value, "", "")) }
	},
	"ask for another address": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		return func() error { return d.AskEmail(t.Context(), u.ID, "new@example.com") }
	},
	"change the address": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		value := d.askEmail(t, u, "new@example.com")
		return func() error { return errorOf(d.ConfirmEmail(t.Context(), by(u), u.ID, value)) }
	},
	"rename": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		return func() error { return errorOf(d.Rename(t.Context(), by(u), u.ID, "Ann Lee")) }
	},
}

var teamActs = prepared{
	"add an operator": func(t *testing.T, d *harness) act {
		return func() error { return errorOf(d.AddOperator(t.Context(), operator, "ann@market.example")) }
	},
	"add an operator again": func(t *testing.T, d *harness) act {
		u, _, _ := d.enrolled(t, "ann@market.example")
		d.setRole(t, u.ID, account.RoleViewer)
		return func() error { return errorOf(d.AddOperator(t.Context(), operator, "ann@market.example")) }
	},
	"change a role": func(t *testing.T, d *harness) act {
		two := d.admins(t, "ann@market.example", "bea@market.example")
		return func() error {
			return errorOf(d.ChangeRole(t.Context(), by(two[0]), two[1].ID, account.RoleAdmin, account.RoleSales))
		}
	},
	"remove an operator": func(t *testing.T, d *harness) act {
		two := d.admins(t, "ann@market.example", "bea@market.example")
		return func() error { return d.RemoveOperator(t.Context(), by(two[0]), two[1].ID) }
	},
	"set a role": func(t *testing.T, d *harness) act {
		two := d.admins(t, "ann@market.example", "bea@market.example")
		return d.inTransaction(t, func(tx *sqldb.Tx) error {
			return errorOf(account.SetRole(t.Context(), tx, operator, two[0].ID, account.RoleViewer, d.now))
		})
	},
	"invite": func(t *testing.T, d *harness) act {
		team, ann := account.Inviter{Accounts: d.Store}, d.admins(t, "ann@market.example")[0]
		return func() error {
			return errorOf(team.Invite(t.Context(), by(ann), "eve@example.com", account.RoleSales))
		}
	},
	"accept an invitation": func(t *testing.T, d *harness) act {
		team, ann := account.Inviter{Accounts: d.Store}, d.admins(t, "ann@market.example")[0]
		eve := d.create(t, account.Person{Email: "eve@example.com"})
		value := d.invite(t, ann, eve.Email, account.RoleSales)
		return func() error {
			return errorOf(team.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value))
		}
	},
}

var otherActs = prepared{
	"create a user": func(t *testing.T, d *harness) act {
		return func() error {
			return errorOf2(d.Create(t.Context(), operator, account.Person{Email: "ann@example.com"}))
		}
	},
	"complete a user": func(t *testing.T, d *harness) act {
		d.create(t, account.Person{Email: "ann@example.com"})
		whole := account.Person{Email: "ann@example.com", ExternalID: "u-1"}
		return func() error {
			return errorOf2(d.Create(t.Context(), operator, whole))
		}
	},
	"erase": func(t *testing.T, d *harness) act {
		u := d.admins(t, "ann@market.example", "bea@market.example")[0]
		return d.inTransaction(t, func(tx *sqldb.Tx) error {
			return errorOf2(account.Erase(t.Context(), tx, operator, u.ID, d.now))
		})
	},
	"gain a right": func(t *testing.T, d *harness) act {
		u := d.create(t, account.Person{Email: "ann@example.com"})
		return d.inTransaction(t, func(tx *sqldb.Tx) error {
			return errorOf(account.Gained(t.Context(), tx, u.ID, d.now))
		})
	},
	"add a token": func(t *testing.T, d *harness) act {
		sell, form := []account.Scope{account.Sell}, &idempotency.Request{Scope: "tests", Key: "form"}
		return func() error {
			_, _, _, err := d.AddTokenOnce(t.Context(), operator, "shop", sell, time.Time{}, "", form)
			return err
		}
	},
	"revoke a token": func(t *testing.T, d *harness) act {
		made, _, err := d.AddToken(t.Context(), operator, "shop", []account.Scope{account.Sell}, time.Time{}, "")
		if err != nil {
			t.Fatal(err)
		}
		return func() error { return errorOf(d.RevokeToken(t.Context(), operator, made.ID)) }
	},
	"store a session": func(t *testing.T, d *harness) act {
		store := &account.Sessions{DB: d.DB, Now: d.Now}
		return func() error { return store.CommitCtx(t.Context(), "key", []byte("x"), d.now.Add(time.Hour)) }
	},
	"delete a session": func(t *testing.T, d *harness) act {
		store := &account.Sessions{DB: d.DB, Now: d.Now}
		if err := store.Commit("key", []byte("x"), d.now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		return func() error { return store.DeleteCtx(t.Context(), "key") }
	},
	"begin a session": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		session := account.NewSession{UserID: u.ID, Browser: "Firefox", NewBrowser: true, BegunAt: d.now}
		return func() error {
			return d.NoteSession(t.Context(), "key", session)
		}
	},
	"end a session": func(t *testing.T, d *harness) act {
		u := d.withPassword(t, "ann@example.com", "correct horse")
		session := account.NewSession{UserID: u.ID, Epoch: u.SessionEpoch, BegunAt: d.now}
		store := &account.Sessions{DB: d.DB, Now: d.Now}
		err := store.Commit("key", []byte("x"), d.now.Add(time.Hour))
		noted := d.NoteSession(t.Context(), "key", session)
		if err != nil || noted != nil {
			t.Fatal(err, noted)
		}
		return func() error { return d.EndSession(t.Context(), by(u), u, account.SessionID("key")) }
	},
}
