package account_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// secured is a user with a password, one-time codes and a passkey, and what changes how
// they sign in, each with the subject of the mail that tells them.
type secured struct {
	*desk
	user   account.User
	secret string
	codes  []string
}

func secure(t *testing.T) *secured {
	t.Helper()
	s := &secured{desk: open(t)}
	s.user, s.secret, s.codes = s.enrolled(t, "ann@example.com")
	s.user, _ = s.addPasskey(t, s.user, &accounttest.Passkey{Origin: s.PublicURL})
	s.now = s.now.Add(time.Minute)
	return s
}

// acts are the acts by the title of their mail.
func (s *secured) acts(t *testing.T) map[string]func() error {
	t.Helper()
	ctx, me := t.Context(), audit.Actor{Kind: audit.ByUser, ID: s.user.ID, Client: "192.0.2.7"}
	return map[string]func() error{
		"One-time codes were added to your account at Bazaar": func() error {
			e := s.EnrolTOTP(s.user)
			_, _, err := s.AddTOTP(ctx, me, s.user.ID, e.Sealed, s.code(t, e.Secret, 0))
			return err
		},
		"One-time codes were removed from your account at Bazaar": func() error {
			_, err := s.RemoveTOTP(ctx, me, s.user.ID)
			return err
		},
		"A passkey was added to your account at Bazaar": func() error {
			c, err := s.BeginPasskey(ctx, s.user)
			if err != nil {
				return err
			}
			key := &accounttest.Passkey{Origin: s.PublicURL}
			_, _, err = s.AddPasskey(ctx, me, s.user, c.State, key.Register(t, c.Options), "Another")
			return err
		},
		"A passkey was removed from your account at Bazaar": func() error {
			_, err := s.RemovePasskey(ctx, me, s.user.ID, 1)
			return err
		},
		"All second factors were removed from your account at Bazaar": func() error {
			return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := s.RemoveFactors(ctx, tx, me, s.user.ID, s.now)
				return err
			})
		},
		"The password of your account at Bazaar was changed": func() error {
			_, err := s.ChangePassword(ctx, me, s.user.ID, "correct horse", "battery staple")
			return err
		},
		"New recovery codes were made for your account at Bazaar": func() error {
			_, _, err := s.NewRecoveryCodes(ctx, me, s.user.ID)
			return err
		},
		"A recovery code was used for your account at Bazaar": func() error {
			_, err := s.SecondStep(ctx, first(s.user), s.codes[0], account.Client{Address: "192.0.2.7"})
			return err
		},
	}
}

// state is what the acts change.
func (s *secured) state(t *testing.T) string {
	t.Helper()
	list, err := sqldb.All(t.Context(), s.DB, sqldb.Value[string], `SELECT password_hash FROM users UNION ALL SELECT sealed FROM totp_secrets
		UNION ALL SELECT name FROM passkeys UNION ALL SELECT hash FROM recovery_codes WHERE used_at = 0 UNION ALL SELECT action FROM audit_entries ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestPeopleAreTold: whoever's way to sign in is changed gets a mail that says what, when
// and from where, and has no link that signs anybody in.
func TestPeopleAreTold(t *testing.T) {
	for title := range secure(t).acts(t) {
		t.Run(title, func(t *testing.T) {
			s := secure(t)
			before := len(s.mails(t))
			if err := s.acts(t)[title](); err != nil {
				t.Fatal(err)
			}
			list := s.mails(t)
			if len(list) != before+1 {
				t.Fatalf("%d mails more", len(list)-before)
			}
			got := list[0]
			if got.Subject != title || got.To != "ann@example.com" {
				t.Errorf("%+v", got)
			}
			for _, want := range []string{title + ".", "12:02 UTC", "192.0.2.7", s.PublicURL + "/account/security", "If it was not"} {
				if !strings.Contains(got.Text, want) {
					t.Errorf("no %q in\n%s", want, got.Text)
				}
			}
			if strings.Contains(got.Text, "/sign-in/link") || strings.Contains(got.Text, s.codes[0]) {
				t.Errorf("it lets somebody in:\n%s", got.Text)
			}
		})
	}
}

// TestToldInOneTransaction: a change whose mail cannot be stored is not made.
func TestToldInOneTransaction(t *testing.T) {
	for title := range secure(t).acts(t) {
		t.Run(title, func(t *testing.T) {
			s := secure(t)
			before := s.state(t)
			s.write(t, func(tx *sqldb.Tx) error {
				tx.Queue(`ALTER TABLE mails RENAME TO mails_away`)
				return nil
			})
			if err := s.acts(t)[title](); err == nil {
				t.Error("it succeeded without the mail")
			}
			if after := s.state(t); after != before {
				t.Errorf("changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestFirstPasswordIsNotTold: whoever signs up knows that they chose a password.
func TestFirstPasswordIsNotTold(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	if _, err := d.ResetPassword(t.Context(), by(u), u.ID, "correct horse"); err != nil {
		t.Fatal(err)
	}
	if list := d.mails(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
