package license

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Owned are the licenses of several users, of partners that the transaction has locked.
type Owned struct {
	tx     *sqldb.Tx
	locked map[int64]bool // partners
}

// LockOwned locks the partners of the licenses of users, in the order of their ids. It comes first
// in a transaction; see EraseUser for the order of locks.
func LockOwned(ctx context.Context, tx *sqldb.Tx, users ...int64) (Owned, error) {
	o := Owned{tx, map[int64]bool{}}
	partners, err := o.partners(ctx, users)
	if err != nil {
		return o, err
	}
	for _, id := range partners {
		// A removed partner has no row.
		if _, err := partner.Lock(tx, id).One(ctx); err != nil && !errors.Is(err, sqldb.ErrNone) {
			return o, fmt.Errorf("lock partner %d: %w", id, err)
		}
		o.locked[id] = true
	}
	return o, nil
}

func (o Owned) partners(ctx context.Context, users []int64) ([]int64, error) {
	list, err := sqldb.All(ctx, o.tx, sqldb.Value[int64], `SELECT DISTINCT partner_id FROM licenses
		WHERE owner_id = ANY($1) AND owner_id <> 0 ORDER BY partner_id`, users)
	if err != nil {
		return nil, fmt.Errorf("find the partners of users: %w", err)
	}
	return list, nil
}

// MarkGuests queues the mark of the licenses that guests bought; see readLimits. It comes before Move,
// and before a guest becomes an account.
func (o Owned) MarkGuests(users []int64) {
	o.tx.Queue(`UPDATE licenses SET from_guest = TRUE WHERE owner_id = ANY($1) AND owner_id <> 0`, users)
}

// Moved counts what Move gave to another user.
type Moved struct{ Licenses, Purchases, Refunds int64 }

// Move gives the licenses, purchases and refunds of a user to another one. It is no transfer: nothing
// is released, tokens stay valid, and no event is written. The caller has locked both users. Move
// returns ErrOwnsMore if the user got licenses of a partner that is not locked: then the caller rolls
// back and begins again.
func (o Owned) Move(ctx context.Context, from, into int64) (m Moved, err error) {
	partners, err := o.partners(ctx, []int64{from})
	if err != nil {
		return m, err
	}
	for _, id := range partners {
		if !o.locked[id] {
			return m, ErrOwnsMore
		}
	}
	for _, s := range []struct {
		n    *int64
		text string
	}{
		{&m.Licenses, `UPDATE licenses SET owner_id = $2 WHERE owner_id = $1 AND owner_id <> 0`},
		{&m.Purchases, `UPDATE purchases SET user_id = $2 WHERE user_id = $1 AND user_id <> 0`},
		{&m.Refunds, `UPDATE refund_items SET owner_id = $2 WHERE owner_id = $1 AND owner_id <> 0`},
	} {
		if *s.n, err = o.tx.Exec(ctx, s.text, from, into); err != nil {
			return m, fmt.Errorf("move what user %d has to user %d: %w", from, into, err)
		}
	}
	return m, nil
}

// CountOwned counts what Move would give to another user.
func CountOwned(ctx context.Context, r sqldb.Reader, userID int64) (m Moved, err error) {
	for _, s := range []struct {
		n    *int64
		text string
	}{
		{&m.Licenses, `SELECT count(*) FROM licenses WHERE owner_id = $1 AND owner_id <> 0`},
		{&m.Purchases, `SELECT count(*) FROM purchases WHERE user_id = $1 AND user_id <> 0`},
		{&m.Refunds, `SELECT count(*) FROM refund_items WHERE owner_id = $1 AND owner_id <> 0`},
	} {
		if *s.n, err = sqldb.One(ctx, r, sqldb.Value[int64], s.text, userID); err != nil {
			return m, fmt.Errorf("count what user %d has: %w", userID, err)
		}
	}
	return m, nil
}
