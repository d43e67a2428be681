package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Find returns the user of a person, and makes one if there is none. The external id decides first,
// then the email address (case-insensitive). Find fills in a missing external id or address but
// never changes an existing one, so that no purchase moves an account to another address.
// Concurrent callers who name the same person get the same user.
func Find(ctx context.Context, tx *sqldb.Tx, p Person, at time.Time) (User, error) {
	u, _, _, err := find(ctx, tx, p, at)
	if err == nil {
		u.settle(tx)
	}
	return u, err
}

func find(ctx context.Context, tx *sqldb.Tx, p Person, at time.Time) (u User, created, changed bool, err error) {
	list, err := QueueFinder(tx, p).find(ctx, at, p)
	if err != nil {
		return User{}, false, false, err
	}
	return list[0].User, list[0].created, list[0].changed, list[0].Err
}

// settle records that the user is more than a sign-up.
func (u *User) settle(tx *sqldb.Tx) {
	if !u.PendingSince.IsZero() {
		u.PendingSince = time.Time{}
		tx.Queue(`UPDATE users SET pending_since = 0 WHERE id = $1`, u.ID)
	}
}

// Found is the user of a person, or the reason that there is none.
type Found struct {
	User    User
	Err     error
	created bool
	changed bool
}

// Finder finds and makes the users of several persons in one transaction.
type Finder struct {
	tx     *sqldb.Tx
	queued *sqldb.Result[User]
	// Users read or made so far, by external id and by the key of the address.
	byExternal, byEmail map[string]*User
}

// QueueFinder queues the query for the existing users of persons, so that it shares a round trip
// with other queued queries. It locks their rows for the rest of the transaction, in order of id,
// so that no user is erased during a sale to them.
func QueueFinder(tx *sqldb.Tx, persons ...Person) *Finder {
	f := &Finder{tx: tx, byExternal: map[string]*User{}, byEmail: map[string]*User{}}
	f.look(persons)
	return f
}

// look queues the query for the users with the external id or address of a person. One person can
// match two users. Erased users have neither. Invalid persons are not looked up: find refuses them.
func (f *Finder) look(persons []Person) {
	var externals, emails []string
	for _, p := range persons {
		p, err := p.checked()
		if err != nil {
			continue
		}
		if p.ExternalID != "" {
			externals = append(externals, p.ExternalID)
		}
		if p.Email != "" {
			emails = append(emails, validate.EmailKey(p.Email))
		}
	}
	if externals == nil && emails == nil {
		return
	}
	f.queued = sqldb.QueueQuery(f.tx, scan, findQuery+f.tx.ForUpdate, externals, emails)
}

// findQuery finds users by both of their partial indexes. It has no subquery of ids: PostgreSQL, if it
// planned that for a small table, would read all users for each sale until the next analyze.
const findQuery = `SELECT ` + columns + ` FROM users WHERE erased_at = 0
	AND (external_id = ANY($1) AND external_id <> '' OR email_key = ANY($2) AND email_key <> '') ORDER BY id`

// know waits for the queued query and adds its users.
func (f *Finder) know(ctx context.Context) error {
	if f.queued == nil {
		return nil
	}
	list, err := f.queued.All(ctx)
	if err != nil {
		return fmt.Errorf("find a user: %w", err)
	}
	f.queued = nil
	for i := range list {
		f.add(&list[i])
	}
	return nil
}

func (f *Finder) add(u *User) {
	if u.ExternalID != "" {
		f.byExternal[u.ExternalID] = u
	}
	if u.Email != "" {
		f.byEmail[validate.EmailKey(u.Email)] = u
	}
}

// Find returns the user of each person, in order, as if the function Find were called for one after
// the other. The Finder must have been made for all of them. After an error the transaction must be
// rolled back.
func (f *Finder) Find(ctx context.Context, at time.Time, persons ...Person) ([]Found, error) {
	list, err := f.find(ctx, at, persons...)
	for i := range list {
		if list[i].Err == nil {
			list[i].User.settle(f.tx)
		}
	}
	return list, err
}

// tries limits how often a Finder looks again after it lost a race to another transaction.
const tries = 4

func (f *Finder) find(ctx context.Context, at time.Time, persons ...Person) ([]Found, error) {
	list := make([]Found, len(persons))
	persons = slices.Clone(persons)
	open := make([]int, 0, len(persons)) // persons without a user
	for i := range persons {
		p, err := persons[i].checked()
		list[i].Err = err
		if err == nil {
			persons[i] = p
			open = append(open, i)
		}
	}
	for lost := 0; lost < tries; {
		if err := f.know(ctx); err != nil {
			return nil, err
		}
		var fresh []int
		var err error
		if fresh, open, err = f.match(ctx, at, persons, list, open); err != nil || len(fresh) == 0 {
			return list, err
		}
		missed, err := f.insert(ctx, at, persons, list, fresh)
		if err != nil {
			return nil, err
		}
		if len(missed) > 0 {
			lost++
			open = append(open, missed...)
			slices.Sort(open)
		}
	}
	for _, i := range open {
		list[i].Err = conflict("Several requests changed the user at the same time. Repeat the request.")
	}
	return list, nil
}

// match assigns known users to persons, in order. It returns the persons to create as fresh.
// Persons that share an address or an external id with an earlier one without a user are returned
// as rest: they wait for it.
func (f *Finder) match(
	ctx context.Context, at time.Time, persons []Person, list []Found, open []int,
) (fresh, rest []int, err error) {
	taken := map[string]bool{} // keys of the persons in fresh and rest
	for _, i := range open {
		p := persons[i]
		u := f.byExternal[p.ExternalID]
		other := f.byEmail[validate.EmailKey(p.Email)]
		if u == nil {
			u = other
		}
		waits := slices.ContainsFunc(p.names(), func(name string) bool { return taken[name] })
		if u != nil && !waits {
			if list[i].changed, list[i].Err, err = f.complete(ctx, u, p, other != nil && other != u, at); err != nil {
				return nil, nil, err
			}
			list[i].User = *u
			continue
		}
		if waits {
			rest = append(rest, i)
		} else {
			fresh = append(fresh, i)
		}
		for _, name := range p.names() {
			taken[name] = true
		}
	}
	return fresh, rest, nil
}

// Names returns the keys by which a person can match a user. No two users share one.
func (p Person) Names() []string {
	p, _ = p.checked() // invalid persons are refused elsewhere
	return p.names()
}

func (p Person) names() []string {
	var names []string
	if p.Email != "" {
		names = append(names, "email "+validate.EmailKey(p.Email))
	}
	if p.ExternalID != "" {
		names = append(names, "external "+p.ExternalID)
	}
	return names
}

// complete fills in the user's missing external id or address from the person. If taken, the
// person's address belongs to another user and stays there. Users with a role or a second factor
// never get an address this way, because an address is a way to sign in. A refusal changes nothing;
// after an error the transaction is lost.
func (f *Finder) complete(
	ctx context.Context, u *User, p Person, taken bool, at time.Time,
) (changed bool, refusal, err error) {
	if p.ExternalID != "" && u.ExternalID != "" && u.ExternalID != p.ExternalID {
		return false, conflict(
			"A user with this email address has another external_id; send that one, or leave external_id out.",
		), nil
	}
	needsID := u.ExternalID == "" && p.ExternalID != ""
	needsEmail := u.Email == "" && p.Email != "" && !taken && !u.Operator() && !u.SecondFactor
	if !needsID && !needsEmail {
		return false, nil, nil
	}
	if needsID {
		u.ExternalID = p.ExternalID
	}
	if needsEmail {
		u.Email = p.Email
	}
	u.UpdatedAt = at
	f.add(u)
	_, err = f.tx.Exec(ctx,
		`UPDATE users SET email = $2, email_key = $3, external_id = $4, updated_at = $5 WHERE id = $1`,
		u.ID, u.Email, validate.EmailKey(u.Email), u.ExternalID, at)
	if sqldb.IsDuplicate(err) {
		return false, nil, conflict(
			"Another request took this email address or external_id at the same time; repeat the request.",
		)
	}
	if err != nil {
		return false, nil, fmt.Errorf("complete a user: %w", err)
	}
	return true, nil, nil
}

// insert makes users for persons. It returns the persons that another transaction has just created,
// and looks them up again. Rows are inserted in the order of addresses, so that two transactions
// that make the same users cannot deadlock.
func (f *Finder) insert(
	ctx context.Context, at time.Time, persons []Person, list []Found, fresh []int,
) (missed []int, err error) {
	slices.SortFunc(fresh, func(a, b int) int {
		p := persons[a]
		q := persons[b]
		return cmp.Or(
			strings.Compare(validate.EmailKey(p.Email), validate.EmailKey(q.Email)),
			strings.Compare(p.ExternalID, q.ExternalID),
		)
	})
	rows := make([][]any, len(fresh))
	for n, i := range fresh {
		p := persons[i]
		rows[n] = []any{
			p.Email, validate.EmailKey(p.Email), p.Name, p.ExternalID, false, "",
			time.Time{},
			at, at,
			time.Time{},
		}
	}
	made, err := sqldb.InsertNew(f.tx, scan, "users",
		[]string{
			"email", "email_key", "name", "external_id", "operator", "password_hash", "proven_at",
			"created_at", "updated_at", "erased_at",
		},
		rows, columns).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("create users: %w", err)
	}
	for n := range made {
		f.add(&made[n])
	}
	var lost []Person
	for _, i := range fresh {
		u := f.byEmail[validate.EmailKey(persons[i].Email)]
		if persons[i].Email == "" {
			u = f.byExternal[persons[i].ExternalID]
		}
		if u == nil {
			missed = append(missed, i)
			lost = append(lost, persons[i])
			continue
		}
		list[i].User = *u
		list[i].created = true
	}
	if len(lost) > 0 {
		f.look(lost)
	}
	return missed, nil
}

func conflict(text string) error { return fault.New(fault.Conflict, codeUserConflict, "%s", text) }
