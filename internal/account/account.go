// Package account holds the people who sign in (buyers, members of partners,
// operators) and the tokens of the marketplace's programs: who they are, how they
// prove it, and that they can be erased. It owns the tables users, login_links,
// link_requests, sessions, signed_sessions, totp_secrets, passkeys, recovery_codes,
// used_challenges and operator_tokens.
//
// Whoever signs in has proven an address: a password counts only from the moment
// when a link that was mailed there, or that the operator made, was used.
//
// Package license knows what a person bought, package partner for whom a person acts;
// the packages with pages decide what is in a session and set its cookie.
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/lastuse"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// The bounds of a person's texts, in characters.
const (
	maxName     = 100
	maxExternal = 255
)

// User is somebody who can sign in, or what is left after being erased: the id,
// without anything that tells who it was.
type User struct {
	ID         int64
	Email      string
	Name       string
	ExternalID string // what the operator's own systems call the user
	Role       Role   // of an operator: what they may do in the console; "" for everybody else
	// SecondFactor says that the user has a one-time code or a passkey: then neither a
	// password nor a link is enough to sign in.
	SecondFactor bool
	// SessionEpoch is raised by a new password, by another second factor and by signing
	// out everywhere; sessions that were begun under another are over.
	SessionEpoch int64
	ProvenAt     time.Time // when the address first proved itself; zero: not yet
	// PendingSince is when a visitor last asked for a mail to somebody who is known
	// by a sign-up alone: see Prune. It is zero once the address proves itself, or
	// anybody but a visitor names the user, since then something may hang on it.
	PendingSince  time.Time
	OperatorSince time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
	ErasedAt      time.Time // zero: not erased
}

// Person is a user as a request names one.
type Person struct{ Email, Name, ExternalID string }

// Book is the book of accounts.
type Book struct {
	DB          *sqldb.DB
	Now         func() time.Time
	PublicURL   string // the address that sign-in links begin with, without a slash at its end
	Marketplace string // what mails call the marketplace; "" is Claviger
	Mail        *mail.Outbox
	TokenUses   *lastuse.Uses // records when operator tokens were used; nil: nothing does
	Asked       func()        // called when a visitor asked for a link: LinkMailer.Wake; may be nil
	HashCost    HashCost
	Sealer      *secret.Sealer // seals the secrets of one-time codes
	Require     Requirement    // who must have a second factor
}

const columns = `id, email, name, external_id, operator_role, second_factor, session_epoch, proven_at, pending_since, operator_since, created_at, updated_at, erased_at`

func (u *User) dest() []any {
	return []any{&u.ID, &u.Email, &u.Name, &u.ExternalID, &u.Role, &u.SecondFactor, &u.SessionEpoch, &u.ProvenAt, &u.PendingSince, &u.OperatorSince, &u.CreatedAt, &u.UpdatedAt, &u.ErasedAt}
}

func scan(r *sqldb.Row, u *User) error { return r.Scan(u.dest()...) }

// Valid reports the first member of the person that is not acceptable. A person
// has an email address, an external id or both; the name may be empty.
func (p Person) Valid() error {
	_, err := p.checked()
	return err
}

// checked is the person as it is stored.
func (p Person) checked() (Person, error) {
	var err error
	if p.ExternalID, err = validate.Line("external_id", p.ExternalID, 0, maxExternal); err != nil {
		return p, err
	}
	if p.Email != "" || p.ExternalID == "" {
		if p.Email, err = validate.Email("email", p.Email); err != nil {
			return p, err
		}
	}
	p.Name, err = validate.Name("name", p.Name, 0, maxName)
	return p, err
}

// unknown is the fault of a user that does not exist.
func unknown() error {
	return fault.New(fault.Missing, CodeUnknownUser, "There is no such user; list the users to see their ids.")
}

// found turns the answer that there is no row into the fault for it.
func found(u User, err error, doing string) (User, error) {
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return User{}, unknown()
	case err != nil:
		return User{}, fmt.Errorf("%s: %w", doing, err)
	}
	return u, nil
}

// Get returns the user with that id.
func (b *Book) Get(ctx context.Context, id int64) (User, error) {
	u, err := sqldb.One(ctx, b.DB, scan, `SELECT `+columns+` FROM users WHERE id = $1`, id)
	return found(u, err, "get a user")
}

// Names returns what to call the users with those ids: the name, or the address of
// who has none. Those who were erased, or never were, are not among them.
func (b *Book) Names(ctx context.Context, ids []int64) (map[int64]string, error) {
	users, err := b.Users(ctx, ids)
	names := make(map[int64]string, len(users))
	for id, u := range users {
		names[id] = u.Called()
	}
	return names, err
}

// Called is what to call the user: the name, or the address of who has none.
func (u User) Called() string { return cmp.Or(u.Name, u.Email) }

// Users returns the users with those ids, by id, without those who were erased.
func (b *Book) Users(ctx context.Context, ids []int64) (map[int64]User, error) {
	return ByID(ctx, b.DB, ids)
}

// ByID is Users, also in the caller's transaction.
func ByID(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]User, error) {
	users := make(map[int64]User, len(ids))
	if len(ids) == 0 {
		return users, nil
	}
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM users WHERE id = ANY($1) AND erased_at = 0`, ids)
	if err != nil {
		return nil, fmt.Errorf("look up users: %w", err)
	}
	for _, u := range list {
		users[u.ID] = u
	}
	return users, nil
}

// Emails returns the addresses of those users who have one, by id, also in the caller's
// transaction.
func Emails(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]string, error) {
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM users WHERE id = ANY($1) AND erased_at = 0 AND email <> ''`, ids)
	if err != nil {
		return nil, fmt.Errorf("look up addresses: %w", err)
	}
	emails := make(map[int64]string, len(list))
	for _, u := range list {
		emails[u.ID] = u.Email
	}
	return emails, nil
}

// Data is what is kept about a person who asks for it. What hangs on the person
// elsewhere is for other packages to tell.
type Data struct {
	Email, Name, ExternalID string
	Operator                bool
	HasPassword             bool
	SecondFactor            bool
	ProvenAt                time.Time // zero: the address has not proven itself
	CreatedAt               time.Time
	UpdatedAt               time.Time
}

// Data returns what is kept about a user.
func (b *Book) Data(ctx context.Context, userID int64) (Data, error) {
	l, err := b.login(ctx, userID)
	if err != nil {
		return Data{}, err
	}
	return Data{
		Email: l.Email, Name: l.Name, ExternalID: l.ExternalID, Operator: l.Operator(), HasPassword: l.password != "", SecondFactor: l.SecondFactor,
		ProvenAt: l.ProvenAt, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
	}, nil
}

// Create makes a user, or returns the one that the person already is; see Find.
func (b *Book) Create(ctx context.Context, by audit.Actor, p Person) (u User, created bool, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		var changed bool
		u, created, changed, err = find(ctx, tx, p, now)
		if err != nil {
			return err
		}
		u.settle(tx)
		switch {
		case created:
			audit.Record(tx, now, by, "user.create", subject(u.ID), nil, u.facts())
		case changed:
			audit.Record(tx, now, by, "user.update", subject(u.ID), nil, u.facts())
		}
		return nil
	})
	if err != nil {
		return User{}, false, fmt.Errorf("create a user: %w", err)
	}
	return u, created, nil
}

// Filter narrows a list of users; what is empty does not narrow.
type Filter struct {
	Email      string // letter case aside
	ExternalID string
}

// List returns one page of the users that fit f, newest first unless the page
// says otherwise, and whether more follow.
func (b *Book) List(ctx context.Context, f Filter, p paging.Page) (users []User, more bool, err error) {
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	where, args := "", []any{p.Limit + 1, p.Offset()}
	add := func(column, value string) {
		args = append(args, value)
		// The second half lets the partial index on the column serve.
		where += fmt.Sprintf(" AND %s = $%d AND %s <> ''", column, len(args), column)
	}
	if f.Email != "" {
		add("email_key", validate.EmailKey(f.Email))
	}
	if f.ExternalID != "" {
		add("external_id", f.ExternalID)
	}
	users, err = sqldb.All(ctx, b.DB, scan,
		`SELECT `+columns+` FROM users WHERE id > 0`+where+` ORDER BY id `+order+` LIMIT $1 OFFSET $2`, args...)
	if err != nil {
		return nil, false, fmt.Errorf("list users: %w", err)
	}
	if int64(len(users)) > p.Limit {
		return users[:p.Limit], true, nil
	}
	return users, false, nil
}

// Erase takes from a user all that tells who it is, and every way to sign in; the
// row stays, since purchases point at it; mails to the address are removed. Erasing
// again changes nothing. The last admin of the marketplace is erased by the service alone, as after
// a restore. It returns the user as it was and as it is. The caller, who also decides what becomes of the user's licenses, writes the audit
// entry.
func Erase(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, at time.Time) (before, after User, err error) {
	before, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`+tx.ForUpdate(), id)
	if before, err = found(before, err, "erase a user"); err != nil {
		return User{}, User{}, err
	}
	if err := before.eraseRole(ctx, tx, by, at); err != nil {
		return User{}, User{}, err
	}
	mail.Erase(tx, before.Email)
	tx.Queue(`UPDATE users SET email = '', email_key = '', name = '', external_id = '', operator = $3, operator_role = '', operator_since = 0, second_factor = $3, password_hash = '',
		proven_at = 0, pending_since = 0, updated_at = $2, erased_at = $2 WHERE id = $1 AND erased_at = 0`, id, at, false)
	tx.Queue(`DELETE FROM login_links WHERE user_id = $1`, id)
	tx.Queue(`DELETE FROM link_requests WHERE email_key = $1`, validate.EmailKey(before.Email))
	deleteFactors(tx, id)
	tx.Queue(`DELETE FROM signed_sessions WHERE user_id = $1`, id)
	after, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`, id)
	after, err = found(after, err, "erase a user")
	return before, after, err
}

// Erased lists the ids of everybody who was erased, in order: after an older backup
// was restored they have to be erased again.
func (b *Book) Erased(ctx context.Context) ([]int64, error) {
	ids, err := sqldb.All(ctx, b.DB, sqldb.Value[int64], `SELECT id FROM users WHERE erased_at <> 0 ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list who was erased: %w", err)
	}
	return ids, nil
}

// lock takes a user's row for the rest of the transaction. An erased user is
// refused: nothing is ever added to one again. One that something is added to is
// more than a sign-up.
func lock(ctx context.Context, tx *sqldb.Tx, id int64) (User, error) {
	u, err := sqldb.One(ctx, tx, scan, `UPDATE users SET pending_since = 0 WHERE id = $1 RETURNING `+columns, id)
	if u, err = found(u, err, "lock a user"); err != nil {
		return User{}, err
	}
	return u, u.present()
}

// Present refuses a user who was erased, and keeps anybody from erasing one for the
// rest of the transaction.
func Present(ctx context.Context, tx *sqldb.Tx, id int64) error {
	_, err := lock(ctx, tx, id)
	return err
}

// QueuePresent queues the query for those of the users that were not erased. Their rows
// are locked for the rest of the transaction, as those of a Finder are.
func QueuePresent(tx *sqldb.Tx, ids []int64) *sqldb.Result[int64] {
	return sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT id FROM users WHERE id = ANY($1) AND erased_at = 0 ORDER BY id`+tx.ForUpdate(), ids)
}

// present is the fault of a user who was erased.
func (u User) present() error {
	if u.ErasedAt.IsZero() {
		return nil
	}
	return ErrErased()
}

// ErrErased is the fault of somebody who was erased.
func ErrErased() error {
	return fault.New(fault.Conflict, CodeUserErased, "This user was erased; create a new one.")
}

func subject(id int64) string { return "user:" + strconv.FormatInt(id, 10) }

// facts tells which members a user has and not what they are: entries stay for
// ever, and a user may be erased.
func (u User) facts() audit.Facts {
	return audit.Facts{"email": u.Email != "", "name": u.Name != "", "external_id": u.ExternalID != "", "operator": u.Operator(), "role": string(u.Role)}
}
