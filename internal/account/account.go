// Package account holds the people who sign in (buyers, members of partners, operators) and the
// tokens of the marketplace's programs. It identifies, authenticates and erases them. It owns the
// tables users, guests, login_links, guest_links, link_requests, sessions, signed_sessions,
// totp_secrets, passkeys, recovery_codes, used_challenges and operator_tokens.
//
// Every user who signs in has proven an address. A password counts only after a link has been used
// that was emailed to the address or made by the operator.
//
// Package license knows a person's purchases, and package partner their memberships. The packages
// with pages decide on the contents of a session and set its cookie.
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/cluster"
	"claviger/internal/fault"
	"claviger/internal/lastuse"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of a person's texts, in characters.
const (
	maxName     = 100
	maxExternal = 255
)

// User is a person who can sign in. After an erasure only the id is left, without anything that
// identifies the person.
type User struct {
	ID         int64
	Email      string
	Name       string
	ExternalID string // the id in the operator's own systems
	Role       Role   // an operator's rights in the console; "" for everyone else
	// SecondFactor is true if the user has a one-time code or a passkey: then neither a password
	// nor a link is enough to sign in.
	SecondFactor bool
	// SessionEpoch is raised by a new password, another second factor, another address, a right
	// that the user gains, and by signing out everywhere. Sessions begun under an earlier epoch are
	// over.
	SessionEpoch int64
	// StaffEpoch is raised when the user loses a role or a membership. Sessions begun under an
	// earlier epoch are over in the console and the portal, but not in the shop.
	StaffEpoch int64
	ProvenAt   time.Time // when the address was first proven; zero: not yet
	// PendingSince is set for a user known only by a sign-up: the last time a visitor asked for an
	// email to them. See Prune. It is zero once the address is proven or anyone but a visitor names
	// the user, because other data may then refer to the user.
	PendingSince  time.Time
	OperatorSince time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
	ErasedAt      time.Time // zero: neither erased nor merged
	GuestEmail    string    // the address that a guest typed; "" for everyone with an account
	MergedInto    int64     // the user that has everything of this one; 0: not merged
}

// Person identifies a user in a request.
type Person struct{ Email, Name, ExternalID string }

// Store stores the accounts.
type Store struct {
	DB          *sqldb.DB
	Now         func() time.Time
	PublicURL   string // prefix of sign-in links, without a trailing slash
	Marketplace string // name of the marketplace in emails; "" is Claviger
	Mail        *mail.Outbox
	TokenUses   *lastuse.Uses // records the uses of operator tokens; may be nil
	Asked       cluster.Wake  // wakes the LinkMailer when a visitor asks for a link; may be nil
	HashCost    HashCost
	Sealer      *secret.Sealer // seals the secrets of one-time codes
	Require     Requirement    // the users that must have a second factor

	// Serves is a hook: it reports whether a user is a member of a partner. Store calls it, maybe in
	// a transaction, before an operator makes a sign-in link; partner.Serves answers. Nil: no one is.
	Serves func(ctx context.Context, r sqldb.Reader, userID int64) (bool, error)
}

const columns = `id, email, name, external_id, operator_role, second_factor, session_epoch, staff_epoch, proven_at,
	pending_since, operator_since, created_at, updated_at, erased_at, guest_email, merged_into`

func (u *User) dest() []any {
	return []any{
		&u.ID,
		&u.Email,
		&u.Name,
		&u.ExternalID,
		&u.Role,
		&u.SecondFactor,
		&u.SessionEpoch,
		&u.StaffEpoch,
		&u.ProvenAt,
		&u.PendingSince,
		&u.OperatorSince,
		&u.CreatedAt,
		&u.UpdatedAt,
		&u.ErasedAt,
		&u.GuestEmail,
		&u.MergedInto,
	}
}

func scan(r *sqldb.Row, u *User) error { return r.Scan(u.dest()...) }

// Valid returns a fault for the first member of the person that is not acceptable. A person has an
// email address, an external id or both; the name may be empty.
func (p Person) Valid() error {
	_, err := p.checked()
	return err
}

// checked validates the person and returns it in its stored form.
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

// unknown returns the fault for a user that does not exist.
func unknown() error {
	return fault.New(fault.Missing, CodeUnknownUser, "There is no such user; list the users to see their ids.")
}

// found turns sqldb.ErrNone into the fault unknown.
func found(u User, err error, doing string) (User, error) {
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return User{}, unknown()
	case err != nil:
		return User{}, fmt.Errorf("%s: %w", doing, err)
	}
	return u, nil
}

// Get returns the user with the id.
func (b *Store) Get(ctx context.Context, id int64) (User, error) {
	u, err := sqldb.One(ctx, b.DB, scan, `SELECT `+columns+` FROM users WHERE id = $1`, id)
	return found(u, err, "get a user")
}

// Names returns the display names of the users with the ids; see Called. It leaves out unknown and
// erased users.
func (b *Store) Names(ctx context.Context, ids []int64) (map[int64]string, error) {
	users, err := b.Users(ctx, ids)
	names := make(map[int64]string, len(users))
	for id, u := range users {
		names[id] = u.Called()
	}
	return names, err
}

// Called returns the user's display name: the name, or else the email address.
func (u User) Called() string { return cmp.Or(u.Name, u.Address()) }

// Users returns the users with the ids, by id, without erased ones.
func (b *Store) Users(ctx context.Context, ids []int64) (map[int64]User, error) {
	return ByID(ctx, b.DB, ids)
}

// ByID does the same as Users, and also works in the caller's transaction.
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

// Emails returns the addresses of the users that have one, by id; of guests, the typed ones. It also
// works in the caller's transaction.
func Emails(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]string, error) {
	list, err := sqldb.All(
		ctx,
		r,
		scan,
		`SELECT `+columns+` FROM users WHERE id = ANY($1) AND erased_at = 0 AND (email <> '' OR guest_email <> '')`,
		ids,
	)
	if err != nil {
		return nil, fmt.Errorf("look up addresses: %w", err)
	}
	emails := make(map[int64]string, len(list))
	for _, u := range list {
		emails[u.ID] = u.Address()
	}
	return emails, nil
}

// Data is the stored data of a person, for a request of that person. Other packages report the data
// that they hold themselves.
type Data struct {
	Email, Name, ExternalID string
	Operator                bool
	HasPassword             bool
	SecondFactor            bool
	ProvenAt                time.Time // zero: the address is not proven
	CreatedAt               time.Time
	UpdatedAt               time.Time
}

// Data returns the stored data of a user.
func (b *Store) Data(ctx context.Context, userID int64) (Data, error) {
	l, err := b.login(ctx, userID)
	if err != nil {
		return Data{}, err
	}
	return Data{
		Email: l.Address(), Name: l.Name, ExternalID: l.ExternalID, Operator: l.Operator(),
		HasPassword: l.password != "", SecondFactor: l.SecondFactor,
		ProvenAt: l.ProvenAt, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
	}, nil
}

// Create makes a user, or returns the existing user of the person; see Find.
func (b *Store) Create(ctx context.Context, by audit.Actor, p Person) (u User, created bool, err error) {
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

// Filter narrows a list of users; empty fields do not narrow it.
type Filter struct {
	Email      string // case-insensitive; guests who typed it are listed, too
	ExternalID string
}

// List returns one page of the users that match f, newest first unless the page says otherwise, and
// whether more follow.
func (b *Store) List(ctx context.Context, f Filter, p paging.Page) (users []User, more bool, err error) {
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	where, args := f.where(p.Limit+1, p.Offset())
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

// Erase removes a user's personal data and every way to sign in, and deletes emails to the address.
// The row stays because purchases refer to it. Erasing again changes nothing. Only the service
// erases the last admin of the marketplace, for example after a restore. Erase returns the user
// before and after. The caller decides about the user's licenses and writes the audit entry.
func Erase(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, at time.Time) (before, after User, err error) {
	before, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`+tx.ForUpdate, id)
	if before, err = found(before, err, "erase a user"); err != nil {
		return User{}, User{}, err
	}
	if err := before.eraseRole(ctx, tx, by, at); err != nil {
		return User{}, User{}, err
	}
	if err := before.eraseMails(ctx, tx); err != nil {
		return User{}, User{}, err
	}
	tx.Queue(
		`UPDATE users SET email = '', email_key = '', name = '', external_id = '', operator = $3, operator_role = '',
			operator_since = 0, second_factor = $3, password_hash = '', guest_email = '', guest_email_key = '',
		proven_at = 0, pending_since = 0, updated_at = $2, erased_at = $2 WHERE id = $1 AND erased_at = 0`,
		id,
		at,
		false,
	)
	endGuest(tx, id, at)
	tx.Queue(`DELETE FROM login_links WHERE user_id = $1`, id)
	tx.Queue(`DELETE FROM link_requests WHERE email_key = $1`, validate.EmailKey(before.Email))
	deleteFactors(tx, id)
	tx.Queue(`DELETE FROM signed_sessions WHERE user_id = $1`, id)
	after, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`, id)
	after, err = found(after, err, "erase a user")
	return before, after, err
}

// Erased lists the ids of all erased users, in order. After an older backup is restored, they must
// be erased again. A merged user is listed only if the other user was erased, too.
func (b *Store) Erased(ctx context.Context) ([]int64, error) {
	ids, err := sqldb.All(ctx, b.DB, sqldb.Value[int64], `SELECT id FROM users WHERE erased_at <> 0
		AND (merged_into = 0 OR merged_into IN (SELECT id FROM users WHERE erased_at <> 0)) ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list who was erased: %w", err)
	}
	return ids, nil
}

// lock locks a user's row for the rest of the transaction, and refuses erased users: nothing may be
// added to them. It also clears pending_since, because the user is now more than a sign-up.
func lock(ctx context.Context, tx *sqldb.Tx, id int64) (User, error) {
	u, err := sqldb.One(ctx, tx, scan, `UPDATE users SET pending_since = 0 WHERE id = $1 RETURNING `+columns, id)
	if u, err = found(u, err, "lock a user"); err != nil {
		return User{}, err
	}
	return u, u.present()
}

// Present refuses an erased user, and prevents an erasure for the rest of the transaction.
func Present(ctx context.Context, tx *sqldb.Tx, id int64) error {
	_, err := lock(ctx, tx, id)
	return err
}

// QueuePresent queues the query for those of the users that are not erased. Like a Finder, it locks
// their rows for the rest of the transaction.
func QueuePresent(tx *sqldb.Tx, ids []int64) *sqldb.Result[int64] {
	return sqldb.QueueQuery(
		tx,
		sqldb.Value[int64],
		`SELECT id FROM users WHERE id = ANY($1) AND erased_at = 0 ORDER BY id`+tx.ForUpdate,
		ids,
	)
}

// present returns a fault if the user was erased.
func (u User) present() error {
	if u.ErasedAt.IsZero() {
		return nil
	}
	return ErrErased()
}

// ErrErased returns the fault for an erased user.
func ErrErased() error {
	return fault.New(fault.Conflict, CodeUserErased, "This user was erased; create a new one.")
}

func subject(id int64) string { return "user:" + strconv.FormatInt(id, 10) }

// facts tells which members a user has, without their values: audit entries stay forever, and a
// user may be erased.
func (u User) facts() audit.Facts {
	return audit.Facts{
		"email":       u.Email != "",
		"name":        u.Name != "",
		"external_id": u.ExternalID != "",
		"operator":    u.Operator(),
		"role":        string(u.Role),
	}
}
