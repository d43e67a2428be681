package license

import (
	"context"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// way is how the acts of a Store run: commits for most, inTx for acts that are a part of another
// transaction, and preview for acts that are rolled back.
type way interface {
	// write runs the transaction of an act.
	write(ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) error
	// read runs the transaction of several reads; reader is for a single one.
	read(ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) error
	reader(db *sqldb.DB) sqldb.Reader
	// answersInside reports whether write does not commit. An act then reads its answer inside of
	// the transaction.
	answersInside() bool
	// spoils reports whether a failed act ends the transaction of the next one.
	spoils() bool
	// note is told the effect on a license.
	note(s *state, changed bool, reason event.Reason)
}

func (r *Store) way() way {
	if r.acts == nil {
		return commits{}
	}
	return r.acts
}

func (r *Store) write(ctx context.Context, fn func(*sqldb.Tx) error) error {
	return r.way().write(ctx, r.DB, fn)
}

func (r *Store) reader() sqldb.Reader { return r.way().reader(r.DB) }

// commits is the way of acts that have transactions of their own.
type commits struct{}

func (commits) write(ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) error {
	return db.Write(ctx, fn)
}

func (commits) read(ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) error {
	return db.Read(ctx, fn)
}

func (commits) reader(db *sqldb.DB) sqldb.Reader { return db }

func (commits) answersInside() bool { return false }

func (commits) spoils() bool { return false }

func (commits) note(*state, bool, event.Reason) {}

// inTx is the way of acts that are a part of another transaction; see Store.Within.
type inTx struct{ tx *sqldb.Tx }

func (w inTx) write(_ context.Context, _ *sqldb.DB, fn func(*sqldb.Tx) error) error {
	return fn(w.tx)
}

func (w inTx) read(_ context.Context, _ *sqldb.DB, fn func(*sqldb.Tx) error) error {
	return fn(w.tx)
}

func (w inTx) reader(*sqldb.DB) sqldb.Reader { return w.tx }

func (inTx) answersInside() bool { return true }

func (inTx) spoils() bool { return true }

func (inTx) note(*state, bool, event.Reason) {}
