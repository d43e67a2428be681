// Package merge merges two people: it moves the licenses, purchases, orders, receipts and refunds of
// one user to another, without releasing a license. Existing tokens stay valid and keep their
// subjects. The package owns no table.
//
// A guest is merged into the account of the same address when the address is proven. An admin can
// merge two buyers.
package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Store merges people.
type Store struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Accounts *account.Store
}

// tries limits how often a transaction begins again because of purchases at the same time.
const tries = 10

// UseLink is account.UseLink. If the link proves the address, it also moves the paid orders of guests
// with this address to the user.
func (s *Store) UseLink(ctx context.Context, token, browser, client string) (e account.Entry, err error) {
	opened, err := s.Accounts.PeekLink(ctx, token)
	if err != nil {
		return account.Entry{}, err
	}
	err = s.proving(ctx, opened.Email, func(tx *sqldb.Tx) (u account.User, by audit.Actor, err error) {
		e, err = s.Accounts.UseLinkIn(ctx, tx, token, browser, client)
		if e.Purpose == account.ForAssisted {
			return account.User{}, by, err // it proves nothing
		}
		return e.User, audit.Actor{Kind: audit.ByUser, ID: e.User.ID, Client: client}, err
	})
	if err != nil {
		return account.Entry{}, fmt.Errorf("use a link: %w", err)
	}
	return e, nil
}

// ConfirmEmail is account.ConfirmEmail. It also moves the paid orders of guests with the new address to
// the user.
func (s *Store) ConfirmEmail(
	ctx context.Context, by audit.Actor, userID int64, token string,
) (u account.User, err error) {
	email, err := s.Accounts.NewEmail(ctx, userID, token)
	if err != nil {
		return account.User{}, err
	}
	err = s.proving(ctx, email, func(tx *sqldb.Tx) (account.User, audit.Actor, error) {
		u, err = s.Accounts.ConfirmEmailIn(ctx, tx, by, userID, token)
		return u, by, err
	})
	return u, err
}

// proving runs an act that proves an address, and moves the paid orders of guests with this address in
// the same transaction. prove returns the user of the address, or a zero User.
func (s *Store) proving(
	ctx context.Context, email string, prove func(*sqldb.Tx) (account.User, audit.Actor, error),
) error {
	return s.again(func() error {
		guests, err := account.PaidGuests(ctx, s.DB, validate.EmailKey(email))
		if err != nil {
			return err
		}
		return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			owned, err := license.LockOwned(ctx, tx, guests...)
			if err != nil {
				return err
			}
			owned.MarkGuests(guests)
			into, by, err := prove(tx)
			if err != nil || into.ID == 0 {
				return err
			}
			// The guests of now: one may have become the account, and others may have paid.
			now, err := account.PaidGuests(ctx, tx, validate.EmailKey(into.Email))
			if err != nil {
				return err
			}
			for _, guest := range now {
				if err := s.move(ctx, tx, by, owned, guest, into.ID); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// again repeats a transaction that found licenses of a partner that it had not locked.
func (s *Store) again(act func() error) error {
	err := license.ErrOwnsMore
	for try := 0; try < tries && errors.Is(err, license.ErrOwnsMore); try++ {
		err = act()
	}
	if errors.Is(err, license.ErrOwnsMore) {
		return fault.New(fault.Conflict, codeUserBusy,
			"Licenses are being bought for this person right now. Repeat the request in a moment.")
	}
	return err
}

// move moves everything of a user to another one and leaves a tombstone.
func (s *Store) move(ctx context.Context, tx *sqldb.Tx, by audit.Actor, owned license.Owned, from, into int64) error {
	now := s.Now()
	was, err := account.Absorb(ctx, tx, from, into, now)
	if err != nil {
		return err
	}
	if was.Guest() {
		owned.MarkGuests([]int64{from})
	}
	moved, err := owned.Move(ctx, from, into)
	if err != nil {
		return err
	}
	orders, err := payment.Move(ctx, tx, from, into)
	if err != nil {
		return err
	}
	audit.Record(tx, now, by, "user.merge", fmt.Sprintf("user:%d", from), nil, audit.Facts{
		"into": into, "guest": was.Guest(), "licenses": moved.Licenses, "purchases": moved.Purchases, "orders": orders,
	})
	return nil
}
