package merge

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// Counts has the numbers of what a merge moves.
type Counts struct {
	license.Moved
	Orders int64
}

// Preview returns what People would move, or its refusal.
func (s *Store) Preview(ctx context.Context, from, into int64) (c Counts, err error) {
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		if err := s.allowed(ctx, tx, from, into); err != nil {
			return err
		}
		if c.Moved, err = license.CountOwned(ctx, tx, from); err != nil {
			return err
		}
		c.Orders, err = payment.CountOrders(ctx, tx, from)
		return err
	})
	return c, err
}

// People merges one buyer into another one, and ends the sessions and links of both. It can't be
// undone. A guest can be merged into a person whose address is proven. Merging the same two again
// changes nothing.
func (s *Store) People(ctx context.Context, by audit.Actor, from, into int64) (account.User, error) {
	was, err := s.Accounts.Get(ctx, from)
	if err != nil {
		return account.User{}, err
	}
	if from != into && was.MergedInto != 0 && was.MergedInto == into {
		return s.Accounts.Get(ctx, into)
	}
	var u account.User
	err = s.again(func() error {
		return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			owned, err := license.LockOwned(ctx, tx, from)
			if err != nil {
				return err
			}
			// Locks both in the order of their ids, as everyone does.
			if _, err := account.QueuePresent(tx, []int64{from, into}).All(ctx); err != nil {
				return err
			}
			if err := s.allowed(ctx, tx, from, into); err != nil {
				return err
			}
			if u, err = s.Accounts.EndAll(ctx, tx, into); err != nil {
				return err
			}
			return s.move(ctx, tx, by, owned, from, into)
		})
	})
	if err != nil {
		return account.User{}, fmt.Errorf("merge two people: %w", err)
	}
	return u, nil
}

// allowed refuses people with a role, a membership or a second factor: a merge must not give rights.
func (s *Store) allowed(ctx context.Context, tx *sqldb.Tx, from, into int64) error {
	if from == into {
		return fault.New(fault.Unprocessable, codeSamePerson,
			"A person can't be merged with themselves. Name the other person in into.").On("into")
	}
	for _, id := range []int64{from, into} {
		if err := s.Accounts.PlainBuyer(ctx, tx, id); err != nil {
			return err
		}
	}
	people, err := account.ByID(ctx, tx, []int64{from, into})
	if err != nil {
		return err
	}
	switch guest := people[from].Guest(); {
	case people[into].Guest():
		return fault.New(fault.Conflict, codeIntoGuest,
			"A guest can't take over licenses. Merge the guest into the person who has an account.").On("into")
	case guest && people[into].ProvenAt.IsZero():
		return fault.New(fault.Conflict, codeNotProven,
			"This person's email address is not proven yet, so the license of a guest can't go there. Ask the person "+
				"to open a sign-in link first.").On("into")
	}
	return nil
}
