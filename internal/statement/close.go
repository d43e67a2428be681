package statement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// Wait is the time from the end of a month until it is closed. Until then, nodes
// with slow clocks may post sales of its last minute.
const Wait = 10 * time.Minute

// CloseMonths writes the statements of all months that have ended. A partner that fails does not stop
// the others.
func (s *Store) CloseMonths(ctx context.Context) error {
	ctx = sqldb.InJob(ctx)
	upTo := MonthOf(s.Now().Add(-Wait), s.Zone) - 1
	partners, err := ledger.Partners(ctx, s.DB)
	if err != nil {
		return err
	}
	closed, err := sqldb.All(ctx, s.DB, sqldb.Value[int64],
		`SELECT partner_id FROM statement_months WHERE month >= $1 ORDER BY partner_id`, int(upTo))
	if err != nil {
		return fmt.Errorf("find partners whose months are closed: %w", err)
	}
	var failed []error
	for _, id := range partners {
		if _, done := slices.BinarySearch(closed, id); done {
			continue
		}
		if err := s.closePartner(ctx, id, upTo); err != nil {
			failed = append(failed, fmt.Errorf("write the statements of partner %d: %w", id, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failed...)
}

// closePartner closes the months of a partner up to one.
func (s *Store) closePartner(ctx context.Context, partnerID int64, upTo Month) error {
	for {
		f, err := s.readOpen(ctx, partnerID)
		if err != nil || f.from.Month >= upTo {
			return err
		}
		// If another node closed a month meanwhile, f is outdated.
		if done, err := s.closeRead(ctx, f, upTo); done || err != nil {
			return err
		}
	}
}

// readOpen adds up the postings of a partner that are in no closed month.
func (s *Store) readOpen(ctx context.Context, partnerID int64) (f *fold, err error) {
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		if f, err = newFold(ctx, tx, partnerID, s.Zone); err != nil {
			return err
		}
		return f.read(ctx, tx)
	})
	return f, err
}

// closeRead writes the statements of a partner. Under the partner's lock it reads only postings that came
// after those in read: sales must not wait for a pass over all sales of a month. It reports false, and
// writes nothing, if another node has closed a month since.
func (s *Store) closeRead(ctx context.Context, read *fold, upTo Month) (done bool, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := ledger.Lock(ctx, tx, read.partnerID); err != nil {
			return err
		}
		now, err := readState(ctx, tx, read.partnerID)
		if err != nil {
			return err
		}
		if done = now == read.from; !done {
			return nil
		}
		f := read.clone() // the transaction may run twice
		if err := f.read(ctx, tx); err != nil {
			return err
		}
		f.endBefore(upTo + 1)
		return s.write(ctx, tx, f, upTo)
	})
	return done, err
}

// write writes the statements of the months that ended, and one email to each contact about all of them.
func (s *Store) write(ctx context.Context, tx *sqldb.Tx, f *fold, upTo Month) error {
	number, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		`SELECT coalesce(max(number), 0) FROM statements WHERE partner_id = $1`, f.partnerID)
	if err != nil {
		return fmt.Errorf("find the last number: %w", err)
	}
	var list []Statement
	closed := f.from
	at := s.Now()
	for _, e := range f.ended {
		if e.Month > upTo {
			break // a node with a fast clock posted in a month that is not over
		}
		for _, n := range e.statements {
			number++
			n.Number = number
			n.CreatedAt = at
			list = append(list, n)
		}
		closed = e.state
	}
	if closed == f.from {
		// There was no posting up to that month. The row saves later runs the search for one.
		closed = state{Month: upTo, EndedAt: (upTo + 1).Begin(s.Zone), Last: f.from.Last}
	}
	closed.save(tx, f.partnerID)
	if len(list) == 0 {
		return nil
	}
	insert(tx, list)
	return s.notify(ctx, tx, list, at)
}
