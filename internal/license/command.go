package license

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// command changes the facts of a license, or refuses and changes nothing. It does
// not write; see writeChange.
type command func(t *partnerTx, s *state) error

// change runs a command on one license, and then the functions in then, in one
// transaction.
func (r *Store) change(
	ctx context.Context,
	by audit.Actor,
	found License,
	action string,
	reason event.Reason,
	do command,
	then ...func(*sqldb.Tx, License) error,
) (License, error) {
	var after License
	err := r.write(ctx, func(tx *sqldb.Tx) error {
		pending := queueTx(tx, found.PartnerID, 1)
		now, chain := queueState(tx, found.ID)
		t, err := r.partnerTx(ctx, tx, by, pending)
		if err != nil {
			return err
		}
		s, err := t.readState(ctx, now, chain)
		if err != nil {
			return err
		}
		if err := do(t, s); err != nil {
			return err
		}
		t.writeChange(s, action, reason)
		t.counters.Save(tx)
		if err := t.tell(ctx); err != nil {
			return err
		}
		after = s.License
		for _, f := range then {
			if err := f(tx, after); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return License{}, err
	}
	return after, nil
}

// queueState queues the queries for a license and its chain; readState reads the
// results.
func queueState(tx *sqldb.Tx, id int64) (*sqldb.Result[License], *sqldb.Result[link]) {
	return sqldb.QueueQuery(tx, scan, `SELECT `+columns+` FROM licenses WHERE id = $1`, id),
		sqldb.QueueQuery(tx, scanLink, chainOf, id)
}

// readState reads the results of queueState. It refuses a license that has changed since the caller
// saw it; see IfUnchanged.
func (t *partnerTx) readState(
	ctx context.Context,
	now *sqldb.Result[License],
	chain *sqldb.Result[link],
) (*state, error) {
	l, err := now.One(ctx)
	if err != nil {
		return nil, fmt.Errorf("read a license: %w", err)
	}
	links, err := chain.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the purchases of a license: %w", err)
	}
	if want, ok := t.seen[l.Key]; ok && want != version(l, links) {
		return nil, errChanged()
	}
	return newState(l, links), nil
}

func errRefunded() error {
	return fault.New(fault.Conflict, CodeLicenseRefunded,
		"The license was refunded. It works again if the refund is reversed; otherwise buy a new license.")
}

// Redeem connects the license to its buyer. The first user to redeem an unclaimed license owns it.
// Another user's license is refused before any of its data is disclosed. The functions in then run
// in the same transaction, with the redeemed license.
func (r *Store) Redeem(
	ctx context.Context,
	by audit.Actor,
	redemptionID string,
	userID int64,
	then ...func(*sqldb.Tx, License) error,
) (License, error) {
	l, err := r.ByRedemption(ctx, redemptionID)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.redeem", event.Redeemed, func(t *partnerTx, s *state) error {
		if s.OwnerID == 0 && !s.Erased {
			// The user may have been erased in the meantime, and would own it forever.
			if err := account.Present(ctx, t.tx, userID); err != nil {
				return err
			}
		}
		return t.redeem(ctx, s, userID)
	}, then...)
}

// redeem checks the license before its partner, so that a user without a right to the license
// learns nothing about the partner.
func (t *partnerTx) redeem(ctx context.Context, s *state, userID int64) error {
	switch {
	case s.Erased, s.OwnerID != 0 && s.OwnerID != userID:
		return fault.New(fault.Forbidden, CodeLicenseNotYours,
			"This license belongs to another account. Sign in with the account that it was bought with.")
	case ended(s.chain):
		return errRefunded()
	case s.Held != 0:
		return fault.New(fault.Conflict, CodeLicenseHeld,
			"The license is on hold. Contact the marketplace to have the hold lifted.")
	}
	if err := t.counters.CheckNotPaused(ctx, t.tx); err != nil {
		return err
	}
	s.OwnerID = userID
	s.Redeemed = true
	s.Released = false
	return nil
}

// Activate redeems a license on behalf of its owner, or of the person in who. An unclaimed license
// requires a person.
func (r *Store) Activate(ctx context.Context, by audit.Actor, key string, who *account.Person) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.activate", event.Operator, func(t *partnerTx, s *state) error {
		owner := s.OwnerID
		if who != nil {
			u, err := account.Find(ctx, t.tx, *who, t.now)
			if err != nil {
				return err
			}
			owner = u.ID
		}
		if owner == 0 && !s.Erased {
			return fault.New(fault.Conflict, codeLicenseUnclaimed,
				"This license has no owner yet. Name the user that it is activated for.").On("user")
		}
		return t.redeem(ctx, s, owner)
	})
}

// Release disconnects an active license from the account that uses it; its owner may redeem it
// again. Codes and tokens of the connection become invalid.
func (r *Store) Release(ctx context.Context, by audit.Actor, key string) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(
		ctx,
		by,
		l,
		"license.release",
		event.Released,
		func(_ *partnerTx, s *state) error { return s.disconnect() },
	)
}

// Disconnect is Release by the owner. Another user's license is reported as unknown.
func (r *Store) Disconnect(ctx context.Context, by audit.Actor, redemptionID string, userID int64) (License, error) {
	l, err := r.ByRedemption(ctx, redemptionID)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.release", event.Released, func(_ *partnerTx, s *state) error {
		if s.OwnerID != userID || s.Erased {
			return errUnknown()
		}
		return s.disconnect()
	})
}

func (s *state) disconnect() error {
	if s.Status != event.Active {
		return fault.New(fault.Conflict, CodeLicenseNotActive,
			"Only an active license can be released; this one is %s.", s.Status)
	}
	s.release()
	return nil
}

// release invalidates the connection.
func (s *state) release() {
	s.Released = true
	s.Epoch++
}

// Transfer gives the license to another user, for them to redeem. It is the only way to restore a
// license after its owner was erased.
func (r *Store) Transfer(ctx context.Context, by audit.Actor, key string, to account.Person) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.transfer", event.Transferred, func(t *partnerTx, s *state) error {
		u, err := account.Find(ctx, t.tx, to, t.now)
		if err != nil {
			return err
		}
		if u.ID == s.OwnerID && !s.Erased {
			return nil
		}
		s.OwnerID = u.ID
		s.Erased = false
		s.Epoch++
		if s.Redeemed {
			s.Released = true
		}
		return nil
	})
}
