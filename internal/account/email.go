package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// ForEmail is the purpose of a link that proves a new address of a user. It signs no one in, and
// works only for that user.
const ForEmail Purpose = "email"

// Rename changes or removes a user's name.
func (b *Store) Rename(ctx context.Context, by audit.Actor, userID int64, name string) (User, error) {
	name, err := validate.Name("name", name, 0, maxName)
	if err != nil {
		return User{}, err
	}
	return b.changeLogin(ctx, userID, "rename a user", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if l.Name == name {
			return nil
		}
		l.Name = name
		l.save(tx, now)
		audit.Record(tx, now, by, "user.update", subject(l.ID), nil, l.facts())
		return nil
	})
}

// AskEmail emails a link to a user's new address. The address becomes theirs when they open the
// link; see ConfirmEmail. If another user has the address, that user is told instead. The answer is
// the same, so it does not reveal accounts.
func (b *Store) AskEmail(ctx context.Context, userID int64, email string) error {
	email, err := validate.Email("email", email)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		u, err := lock(ctx, tx, userID)
		if err != nil {
			return err
		}
		if validate.EmailKey(u.Email) == validate.EmailKey(email) {
			return fault.Field("email", "is the address that you have.")
		}
		other, err := sqldb.One(
			ctx,
			tx,
			scan,
			`SELECT `+columns+` FROM users WHERE email_key = $1 AND email_key <> ''`,
			validate.EmailKey(email),
		)
		w := takenWords
		if errors.Is(err, sqldb.ErrNone) {
			w = emailWords // and no name: what somebody typed must not reach others in our name
		} else if err != nil {
			return err
		}
		other.ID = u.ID
		other.Email = email
		other.PendingSince = time.Time{}
		_, err = b.post(ctx, tx, other, link{purpose: ForEmail, email: email}, w, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for a new address: %w", err)
	}
	return nil
}

// NewEmail returns the address that a user's link proves. It has the same faults as ConfirmEmail.
func (b *Store) NewEmail(ctx context.Context, userID int64, token string) (string, error) {
	var l link
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		l, err = emailLink(ctx, tx, userID, token, b.Now())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look at a link: %w", err)
	}
	return l.email, nil
}

func emailLink(ctx context.Context, tx *sqldb.Tx, userID int64, token string, now time.Time) (link, error) {
	l, err := anyLink(ctx, tx, token, now)
	if err != nil && fault.Of(err) == nil {
		return link{}, err
	}
	if l.userID != userID || l.purpose != ForEmail {
		return link{}, invalidLink()
	}
	return l, err
}

// ConfirmEmail gives a user the address that a link proves, and notifies the old address. It ends
// all unused links and all sessions, except those begun with the returned user.
func (b *Store) ConfirmEmail(ctx context.Context, by audit.Actor, userID int64, token string) (u User, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		u, err = b.ConfirmEmailIn(ctx, tx, by, userID, token)
		return err
	})
	return u, err
}

// ConfirmEmailIn does the same as ConfirmEmail, in the caller's transaction.
func (b *Store) ConfirmEmailIn(
	ctx context.Context, tx *sqldb.Tx, by audit.Actor, userID int64, token string,
) (User, error) {
	return b.changeLoginIn(ctx, tx, userID, "change an address", func(u *login, now time.Time) error {
		l, err := emailLink(ctx, tx, userID, token, now)
		if err != nil {
			return err
		}
		old := u.User
		u.endSessions(tx, now)
		_, err = tx.Exec(
			ctx,
			`UPDATE users SET email = $2, email_key = $3, proven_at = $4, updated_at = $4, session_epoch = $5
				WHERE id = $1`,
			u.ID,
			l.email,
			validate.EmailKey(l.email),
			now,
			u.SessionEpoch,
		)
		if sqldb.IsDuplicate(err) {
			return fault.New(fault.Conflict, codeUserConflict, "Another account has this address. Nothing was changed.")
		}
		if err != nil {
			return err
		}
		u.Email = l.email
		u.ProvenAt = now
		u.UpdatedAt = now
		tx.Queue(`UPDATE login_links SET used_at = $2, expires_at = $2 WHERE hash = $1`, secret.Hash(token), now)
		audit.Record(tx, now, by, "user.email", subject(u.ID), nil, nil)
		b.tellOldEmail(tx, old, by, now)
		return nil
	})
}

// tellOldEmail notifies a user's previous address of the change. No record of emails to it stays,
// because an erasure of the user would not find it.
func (b *Store) tellOldEmail(tx *sqldb.Tx, old User, by audit.Actor, at time.Time) {
	mail.Erase(tx, old.Email)
	if old.Email == "" || !b.Mail.Sends(mail.EmailChanged) {
		return
	}
	title := "The email address of your account at " + b.marketplace() + " was changed"
	l := mail.Content{
		Title:   title,
		Hello:   old.hello(),
		Opening: []string{"Your account has another email address now. You sign in with that one, and mails go there."},
		Facts:   []mail.Fact{{Name: "When", Value: at.UTC().Format("2 January 2006, 15:04 UTC")}},
		Closing: []string{
			"If it was you, you need not do anything.",
			"If it was not, somebody else uses your account: contact " + b.marketplace() + " at once.",
		},
		Links: b.Mail.Contact(b.marketplace()),
		Foot:  "You get this mail because this was the address of the account. It is the last one to this address.",
	}
	if by.Client != "" {
		l.Facts = append(l.Facts, mail.Fact{Name: "From the address", Value: by.Client})
	}
	text, html := b.Mail.Render(l)
	b.Mail.Put(tx, mail.Message{
		Kind: mail.EmailChanged, Cause: fmt.Sprintf("user %d at %d: email changed", old.ID, at.UnixNano()),
		To: old.Email, Subject: title, Text: text, HTML: html, Transient: true,
	}, at)
}
