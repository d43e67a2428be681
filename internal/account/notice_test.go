package account_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// secured is a user with a password, one-time codes and a passkey. Its acts change the user's ways
// to sign in, by the subject of the email about each.
type secured struct {
	*harness
	user   account.User
	secret string
	codes  []string
}

func secure(t *testing.T) *secured {
	t.Helper()
	s := &secured{harness: open(t)}
	s.user, s.secret, s.codes = s.enrolled(t, "ann@example.com")
	s.user, _ = s.addPasskey(t, s.user, &accounttest.Passkey{Origin: s.PublicURL})
	s.now = s.now.Add(time.Minute)
	return s
}

// acts returns the acts by the title of their email.
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

// state returns the state that the acts change.
func (s *secured) state(t *testing.T) string {
	t.Helper()
	list, err := sqldb.All(t.Context(), s.DB, sqldb.Value[string], `SELECT password_hash FROM users UNION ALL SELECT sealed FROM totp_secrets
		UNION ALL SELECT name FROM passkeys UNION ALL SELECT hash FROM recovery_codes WHERE used_at = 0 UNION ALL SELECT action FROM audit_entries ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestPeopleAreTold checks that users get an email about each change of their ways to sign in. It
// says which change, when and from where, and has no link that signs anyone in.
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

// TestToldInOneTransaction checks that a change fails if its email cannot be stored.
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

// TestFirstPasswordIsNotTold checks that a sign-up sends no email about its password.
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

// TestToldByTheTeam: a mail says when the team changed how someone signs in, and where the
// change came from if that is known. Nobody is told without an address, or by a command
// that has no outbox.
func TestToldByTheTeam(t *testing.T) {
	for name, c := range map[string]struct {
		actor               func(u account.User) audit.Actor
		noAddress, noOutbox bool
		team, from          bool // in the mail
	}{
		"by themselves": {actor: by},
		"by another user": {
			actor: func(u account.User) audit.Actor { return audit.Actor{Kind: audit.ByUser, ID: u.ID + 1} },
			team:  true,
		},
		"by a token": {
			actor: func(u account.User) audit.Actor {
				return audit.Actor{Kind: audit.ByToken, ID: u.ID, Client: "192.0.2.7"}
			},
			team: true, from: true,
		},
		"without an address": {actor: by, noAddress: true},
		"without an outbox":  {actor: by, noOutbox: true},
	} {
		s := secure(t)
		before := len(s.mails(t))
		if c.noAddress {
			s.exec(t, `UPDATE users SET email = '', email_key = ''`)
		}
		outbox := s.Mail
		if c.noOutbox {
			s.Mail = nil
		}
		s.write(t, func(tx *sqldb.Tx) error {
			return errorOf(s.RemoveFactors(t.Context(), tx, c.actor(s.user), s.user.ID, s.now))
		})
		s.Mail = outbox
		list := s.mails(t)
		if told := len(list) > before; told != (!c.noAddress && !c.noOutbox) {
			t.Errorf("%s: told %t", name, told)
		} else if !told {
			continue
		}
		if team := strings.Contains(list[0].Text, "the team of Bazaar"); team != c.team {
			t.Errorf("%s: the mail says %s", name, list[0].Text)
		}
		if from := strings.Contains(list[0].Text, "From the address"); from != c.from {
			t.Errorf("%s: the mail says %s", name, list[0].Text)
		}
	}
}

// TestTellDeleted: people who delete their account are told, and nothing of the mail stays
// once it was sent. Operators tell the people whom they erase.
func TestTellDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		actor audit.Actor
		email string
		off   []mail.Kind
		want  bool
	}{
		"by themselves":      {actor: audit.Actor{Kind: audit.ByUser, ID: 1}, email: "ann@example.com", want: true},
		"by another user":    {actor: audit.Actor{Kind: audit.ByUser, ID: 2}, email: "ann@example.com"},
		"by a token":         {actor: audit.Actor{Kind: audit.ByToken, ID: 1}, email: "ann@example.com"},
		"without an address": {actor: audit.Actor{Kind: audit.ByUser, ID: 1}},
		"switched off": {
			actor: audit.Actor{Kind: audit.ByUser, ID: 1}, email: "ann@example.com",
			off: []mail.Kind{mail.AccountDeleted},
		},
	} {
		d := open(t)
		d.Mail.Off = c.off
		d.write(t, func(tx *sqldb.Tx) error {
			d.TellDeleted(tx, c.actor, account.User{ID: 1, Email: c.email}, d.now)
			return nil
		})
		transient, err := sqldb.All(t.Context(), d.DB, sqldb.Value[bool], `SELECT transient FROM mails`)
		if told := len(transient) == 1 && transient[0]; err != nil || told != c.want || !c.want && len(transient) > 0 {
			t.Errorf("%s: %v, %v", name, transient, err)
		}
	}
}
