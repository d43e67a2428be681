package license

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// EraseUser erases a person and with them their hold on their licenses: each is
// deactivated and nobody can redeem it. One transaction, over all partners.
func (r *Registry) EraseUser(ctx context.Context, by audit.Actor, userID int64) (account.User, error) {
	var erased account.User
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := r.eraseOwned(ctx, tx, by, userID); err != nil {
			return err
		}
		at := r.Now()
		var err error
		if erased, err = account.Erase(ctx, tx, userID, at); err != nil {
			return err
		}
		// Nobody can buy for the user any more; what was bought since we looked.
		if err := r.eraseOwned(ctx, tx, by, userID); err != nil {
			return err
		}
		if erased.ErasedAt.Equal(at) { // and not long ago
			partner.Leave(tx, userID)
			tx.Purge()
			audit.Record(tx, at, by, "user.erase", fmt.Sprintf("user:%d", userID), nil, nil)
		}
		return nil
	})
	return erased, err
}

// eraseOwned makes the owner of the user's licenses a tombstone. Partners' turns
// are taken in the order of their ids, and before the user's row, as every other
// command does with the one partner it has.
func (r *Registry) eraseOwned(ctx context.Context, tx *sqldb.Tx, by audit.Actor, userID int64) error {
	owned, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses
		WHERE owner_id = $1 AND owner_id <> 0 AND erased = FALSE ORDER BY partner_id, id`, userID)
	if err != nil {
		return fmt.Errorf("find the licenses of user %d: %w", userID, err)
	}
	for len(owned) > 0 {
		n := 1
		for n < len(owned) && owned[n].PartnerID == owned[0].PartnerID {
			n++
		}
		if err := r.eraseOwner(ctx, tx, by, owned[:n], userID); err != nil {
			return err
		}
		owned = owned[n:]
	}
	return nil
}

// eraseOwner makes the owner of one partner's licenses a tombstone.
func (r *Registry) eraseOwner(ctx context.Context, tx *sqldb.Tx, by audit.Actor, owned []License, userID int64) error {
	turn := ask(tx, owned[0].PartnerID, len(owned))
	states, err := takeAll(ctx, tx, owned)
	if err != nil {
		return err
	}
	t, err := r.turn(ctx, tx, by, turn)
	if err != nil {
		return err
	}
	for _, s := range states {
		if s.OwnerID != userID || s.Erased {
			continue // it changed hands while we waited for the turn
		}
		s.Erased = true
		s.release()
		t.settle(s, "license.erase", event.UserErased)
	}
	t.ledger.Save(tx)
	return nil
}

// takeAll reads licenses and their chains under the turn asked for before.
func takeAll(ctx context.Context, tx *sqldb.Tx, found []License) ([]*state, error) {
	licenses := make([]*sqldb.Answer[License], len(found))
	chains := make([]*sqldb.Answer[link], len(found))
	for i, l := range found {
		licenses[i], chains[i] = askState(tx, l.ID)
	}
	states := make([]*state, len(found))
	for i := range found {
		var err error
		if states[i], err = take(ctx, licenses[i], chains[i]); err != nil {
			return nil, err
		}
	}
	return states, nil
}
