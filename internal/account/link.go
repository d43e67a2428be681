package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Purpose is the purpose of a link. Each link signs its holder in, once.
type Purpose string

// Purposes of links.
const (
	ForSignIn Purpose = "sign-in" // only signs in
	ForSignUp Purpose = "sign-up" // confirms the address of a sign-up
	ForReset  Purpose = "reset"   // lets its holder choose a new password

	// ForAssisted is the purpose of a link that the team or one of its programs made for a person.
	// Its maker may use it as well, so it proves no address.
	ForAssisted Purpose = "assisted"
)

// Lifetimes of links, and the time to choose a password after a reset link was used. People who
// sign up may first have to find the email among others.
const (
	LinkLife   = 15 * time.Minute
	SignUpLife = 24 * time.Hour
	resetLife  = time.Hour
)

// linkKept is how long an expired link is stored. Until then its holder is told that it expired,
// not that it is invalid.
const linkKept = 24 * time.Hour

// signUpKept is how long after the last email an unconfirmed sign-up is stored. It is longer than
// the life of its links.
const signUpKept = 7 * 24 * time.Hour

// life returns how long a link for the purpose works.
func (p Purpose) life() time.Duration {
	if p == ForSignUp {
		return SignUpLife
	}
	return LinkLife
}

// link is a row of login_links. Name and password of a sign-up are stored here until the address is
// proven.
type link struct {
	id, userID        int64
	purpose           Purpose
	next              string
	name              string
	password          Password
	browserHash       string // of the secret of the browser that signed up
	email             string // for ForEmail: the address that it proves
	expiresAt, usedAt time.Time
	life              time.Duration // of a new link; 0 is that of its purpose
}

const linkColumns = `id, user_id, purpose, next, name, password_hash, browser_hash, email, expires_at, used_at`

func scanLink(r *sqldb.Row, l *link) error {
	return r.Scan(
		&l.id,
		&l.userID,
		&l.purpose,
		&l.next,
		&l.name,
		&l.password,
		&l.browserHash,
		&l.email,
		&l.expiresAt,
		&l.usedAt,
	)
}

// insert stores the link, which begins now, and sets its id and its expiry.
func (l *link) insert(ctx context.Context, tx *sqldb.Tx, token string, now time.Time) (err error) {
	l.expiresAt = now.Add(cmp.Or(l.life, l.purpose.life()))
	l.id, err = sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO login_links
		(user_id, hash, purpose, next, name, password_hash, browser_hash, email, created_at, expires_at, used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0) RETURNING id`,
		l.userID, secret.Hash(token), l.purpose, l.next, l.name, l.password, l.browserHash, l.email, now, l.expiresAt)
	return err
}

// address returns the URL of the page that a link opens.
func (b *Store) address(p Purpose, token string) string {
	page := "/sign-in/link"
	if p == ForEmail {
		page = "/account/email/confirm"
	}
	return b.PublicURL + page + "?token=" + token
}

// Link makes a link that signs a user in once and leads to next, a page of ours; "" is the default
// page. Only its hash is stored, so the URL cannot be shown again. MayAssist decides whether the
// link is refused.
func (b *Store) Link(
	ctx context.Context,
	by audit.Actor,
	userID int64,
	next string,
) (url string, expires time.Time, err error) {
	if next != LocalPath(next) {
		return "", time.Time{}, fault.Field("next", "must be a path of this service, such as /licenses.")
	}
	token := secret.Make("")
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		u, err := lock(ctx, tx, userID)
		if err != nil {
			return err
		}
		now := b.Now()
		if err := b.mayAssist(ctx, tx, by, u, now); err != nil {
			return err
		}
		l := link{userID: userID, purpose: ForAssisted, next: next}
		if err := l.insert(ctx, tx, token, now); err != nil {
			return err
		}
		expires = l.expiresAt
		audit.Record(tx, now, by, "user.link", subject(userID), nil, nil)
		return nil
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make a sign-in link: %w", err)
	}
	return b.address(ForAssisted, token), expires, nil
}

// Opened is the effect of a link that is not used yet.
type Opened struct {
	Purpose Purpose
	Email   string // of the user that it signs in; "" if the user has no address
	Next    string // the page it leads to, as LocalPath returns it
}

// PeekLink returns the effect of a link without using it: email scanners open links too. Its faults
// are those of UseLink. For a used or expired link it returns only Next.
func (b *Store) PeekLink(ctx context.Context, token string) (Opened, error) {
	var o Opened
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		l, err := liveLink(ctx, tx, token, b.Now())
		if fault.Is(err, CodeInvalidLink) {
			g, err := liveGuestLink(ctx, tx, token, b.Now())
			o = Opened{Purpose: ForPurchase, Email: g.email, Next: g.next}
			return err
		}
		o.Next = l.next
		if err != nil {
			return err
		}
		u, err := sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`, l.userID)
		o = Opened{Purpose: l.purpose, Email: u.Email, Next: l.next}
		return err
	})
	if err != nil {
		return Opened{Next: o.Next}, fmt.Errorf("look at a link: %w", err)
	}
	return o, nil
}

// Entry is the result of using a link.
type Entry struct {
	User          User
	Purpose       Purpose
	Next          string // the page to go to, as LocalPath returns it
	NeedsPassword bool   // the user has to choose a password: see ResetPassword
	First         bool   // the link proved the address for the first time
}

// UseLink signs in the user of a link. It proves the address, unless the link is an assisted one. A
// sign-up's name and password become the user's if browser is the secret that SignUp gave to this
// same browser. Otherwise they are dropped: the person who signed up may not be the reader of the
// email. client is the client's address, for the audit. Of several concurrent uses of a link, one
// succeeds. An invalid token costs a read and no write, because anyone can send one.
func (b *Store) UseLink(ctx context.Context, token, browser, client string) (Entry, error) {
	if _, err := b.PeekLink(ctx, token); err != nil {
		return Entry{}, err
	}
	var e Entry
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		e, err = b.UseLinkIn(ctx, tx, token, browser, client)
		return err
	})
	if err != nil {
		return Entry{}, fmt.Errorf("use a link: %w", err)
	}
	return e, nil
}

// UseLinkIn does the same as UseLink, in the caller's transaction. After an error the transaction
// must be rolled back.
func (b *Store) UseLinkIn(ctx context.Context, tx *sqldb.Tx, token, browser, client string) (Entry, error) {
	now := b.Now()
	// Lock the user's row before the link's, as everywhere: otherwise two concurrent uses of two
	// links of one user could deadlock.
	who, err := sqldb.One(ctx, tx, scanLogin, `UPDATE users SET updated_at = updated_at WHERE erased_at = 0
		AND id = (SELECT user_id FROM login_links WHERE hash = $1)
		RETURNING `+columns+`, password_hash`, secret.Hash(token))
	if errors.Is(err, sqldb.ErrNone) {
		return b.useGuestLink(ctx, tx, token, client)
	}
	if err != nil {
		return Entry{}, err
	}
	// This conditional update is the gate: it succeeds for one caller only.
	l, err := sqldb.One(ctx, tx, scanLink, `UPDATE login_links SET used_at = $2
		WHERE hash = $1 AND used_at = 0 AND expires_at > $2 AND purpose <> $3
		RETURNING `+linkColumns, secret.Hash(token), now, ForEmail)
	if errors.Is(err, sqldb.ErrNone) {
		return Entry{}, deadLink(ctx, tx, token, now)
	}
	if err != nil {
		return Entry{}, err
	}
	return who.enter(tx, l, browser, client, now), nil
}

// enter applies the effect of a link that was just used.
func (l *login) enter(tx *sqldb.Tx, by link, browser, client string, now time.Time) Entry {
	before := l.User
	if by.purpose != ForAssisted {
		l.prove(now)
	}
	sameBrowser := by.browserHash != "" && secret.Equal(by.browserHash, secret.Hash(browser))
	if l.Name == "" && sameBrowser {
		l.Name = by.name
	}
	audit.Record(
		tx,
		now,
		self(l.ID, client),
		"user.sign_in",
		subject(l.ID),
		nil,
		firstStep(l.User, audit.Facts{"by": "link", "purpose": by.purpose}),
	)
	until := now
	if by.purpose == ForReset {
		until = now.Add(resetLife)
	}
	tx.Queue(
		`UPDATE login_links SET expires_at = $2, name = '', password_hash = '', browser_hash = '' WHERE id = $1`,
		by.id,
		until,
	)
	tx.Queue(`UPDATE login_links SET expires_at = $3, name = '', password_hash = '', browser_hash = ''
		WHERE user_id = $1 AND purpose = $2 AND used_at = 0 AND expires_at > $3`, l.ID, by.purpose, now)
	switch {
	case sameBrowser && by.password != "" && l.password == "":
		l.setPassword(tx, self(l.ID, client), by.password, now)
	case l.User != before:
		l.save(tx, now)
	}
	return Entry{
		User: l.User, Purpose: by.purpose, Next: by.next, First: before.ProvenAt.IsZero() && !l.ProvenAt.IsZero(),
		NeedsPassword: by.purpose == ForReset || by.purpose == ForSignUp && l.password == "",
	}
}

// liveLink returns the link of a token that signs a user in, or the fault that explains why it does
// not work.
func liveLink(ctx context.Context, tx *sqldb.Tx, token string, now time.Time) (link, error) {
	l, err := anyLink(ctx, tx, token, now)
	if l.purpose == ForEmail {
		return link{}, invalidLink()
	}
	return l, err
}

// anyLink does the same as liveLink, for links of any purpose.
func anyLink(ctx context.Context, tx *sqldb.Tx, token string, now time.Time) (link, error) {
	l, err := sqldb.One(
		ctx,
		tx,
		scanLink,
		`SELECT `+linkColumns+` FROM login_links WHERE hash = $1`,
		secret.Hash(token),
	)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return link{}, invalidLink()
	case err != nil:
		return link{}, err
	}
	return l, linkOver(l.usedAt, l.expiresAt, now)
}

// deadLink returns the fault that explains why a link does not work.
func deadLink(ctx context.Context, tx *sqldb.Tx, token string, now time.Time) error {
	if _, err := liveLink(ctx, tx, token, now); err != nil {
		return err
	}
	return errors.New("the link works and was not used")
}

func invalidLink() error {
	return fault.New(
		fault.Unknown,
		CodeInvalidLink,
		"This link is not valid; check that it was copied whole, or ask for a new one.",
	)
}

// maxNext is the maximum length of the page that a link leads to, in bytes. The page may be the
// authorization request of an application: a state of 4 KiB alone has three times as many bytes
// when it is percent-encoded.
const maxNext = 24 << 10

// LocalPath returns next if it is a path of this service, with or without a query, and ""
// otherwise: no link may lead to another site. Browsers read a backslash as a slash, and ignore
// line breaks and tabs.
func LocalPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) ||
		len(next) > maxNext || !utf8.ValidString(next) || strings.ContainsFunc(next, unicode.IsControl) {
		return ""
	}
	if u, err := url.Parse(next); err != nil || u.IsAbs() || u.Host != "" {
		return ""
	}
	return next
}
