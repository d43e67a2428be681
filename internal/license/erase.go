package license

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// ErrOwnsMore reports that the user owns licenses of a partner that is not locked.
var ErrOwnsMore = errors.New("the user owns licenses of another partner, too")

// eraseTries limits how often an erasure restarts because licenses of further partners were bought
// for the user concurrently.
const eraseTries = 10

// EraseUser erases a person and all personal data. Each license of the user is deactivated and can
// no longer be redeemed. It is one transaction over all partners.
//
// Lock order, here and in every command on licenses: the rows of partner_counters in the order of
// partners' ids, then the row of the user, then everything else. An erasure can check only under
// the lock of the user whether it has locked all partners, and restarts if it has not.
func (r *Store) EraseUser(ctx context.Context, by audit.Actor, userID int64) (account.User, error) {
	var erased account.User
	err := ErrOwnsMore
	for try := 0; try < eraseTries && errors.Is(err, ErrOwnsMore); try++ {
		err = r.write(ctx, func(tx *sqldb.Tx) (err error) {
			erased, err = r.eraseUser(ctx, tx, by, userID)
			return err
		})
	}
	if errors.Is(err, ErrOwnsMore) {
		return account.User{}, fault.New(
			fault.Conflict,
			codeUserBusy,
			"Licenses are being bought for this user right now; repeat the request in a moment.",
		)
	}
	return erased, err
}

func (r *Store) eraseUser(ctx context.Context, tx *sqldb.Tx, by audit.Actor, userID int64) (account.User, error) {
	txs, err := r.lockPartners(ctx, tx, by, userID)
	if err != nil {
		return account.User{}, err
	}
	at := r.Now()
	before, erased, err := account.Erase(ctx, tx, by, userID, at)
	if err != nil {
		return account.User{}, err
	}
	// From here on, nothing can be bought or redeemed for the user.
	if err := r.eraseOwned(ctx, tx, txs, userID); err != nil {
		return account.User{}, err
	}
	if !erased.ErasedAt.Equal(at) { // already erased before
		return erased, nil
	}
	if err := partner.Leave(ctx, tx, by, userID, at); err != nil {
		return account.User{}, err
	}
	eraseReasons(tx, userID)
	refundrequest.Erase(tx, userID)
	partner.EraseInvitations(tx, before.Email)
	if err := profile.EraseContacts(ctx, tx, by, before.Email, at); err != nil {
		return account.User{}, err
	}
	if r.Accounts != nil {
		r.Accounts.TellDeleted(tx, by, before, at)
	}
	tx.Purge()
	audit.Record(tx, at, by, "user.erase", fmt.Sprintf("user:%d", userID), nil, nil)
	audit.EraseUser(tx, userID) // last, for users that erase themselves
	return erased, nil
}

// lockPartners locks the partners of the user's licenses, in the order of their ids.
func (r *Store) lockPartners(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	userID int64,
) (map[int64]*partnerTx, error) {
	partners, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT DISTINCT partner_id FROM licenses
		WHERE owner_id = $1 AND owner_id <> 0 AND erased = FALSE ORDER BY partner_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("find the partners of user %d: %w", userID, err)
	}
	txs := make(map[int64]*partnerTx, len(partners))
	for _, id := range partners {
		if txs[id], err = r.partnerTx(ctx, tx, by, queueTx(tx, id, 0)); err != nil {
			return nil, err
		}
	}
	return txs, nil
}

// eraseOwned marks the user's licenses as erased.
func (r *Store) eraseOwned(ctx context.Context, tx *sqldb.Tx, txs map[int64]*partnerTx, userID int64) error {
	owned, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses
		WHERE owner_id = $1 AND owner_id <> 0 AND erased = FALSE ORDER BY partner_id, id`, userID)
	if err != nil {
		return fmt.Errorf("find the licenses of user %d: %w", userID, err)
	}
	if slices.ContainsFunc(owned, func(l License) bool { return txs[l.PartnerID] == nil }) {
		return ErrOwnsMore
	}
	for len(owned) > 0 {
		n := 1
		for n < len(owned) && owned[n].PartnerID == owned[0].PartnerID {
			n++
		}
		if err := txs[owned[0].PartnerID].eraseOwner(ctx, owned[:n]); err != nil {
			return err
		}
		owned = owned[n:]
	}
	return nil
}

// eraseOwner marks the user's licenses of one partner as erased.
func (t *partnerTx) eraseOwner(ctx context.Context, owned []License) error {
	states, err := t.readStates(ctx, owned)
	if err == nil {
		err = t.nextEventIDs(ctx, len(states))
	}
	if err != nil {
		return err
	}
	for _, s := range states {
		s.Erased = true
		s.release()
		t.writeChange(s, "license.erase", event.UserErased)
	}
	t.counters.Save(t.tx)
	return nil
}

// readStates reads licenses and their chains, under the partner's lock.
func (t *partnerTx) readStates(ctx context.Context, found []License) ([]*state, error) {
	licenses := make([]*sqldb.Result[License], len(found))
	chains := make([]*sqldb.Result[link], len(found))
	for i, l := range found {
		licenses[i], chains[i] = queueState(t.tx, l.ID)
	}
	states := make([]*state, len(found))
	for i := range found {
		var err error
		if states[i], err = t.readState(ctx, licenses[i], chains[i]); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// eraseReasons removes the reasons of refunds of licenses that a user owned at the time: they may
// be about that person.
func eraseReasons(tx *sqldb.Tx, userID int64) {
	tx.Queue(`UPDATE refunds SET reason = '' WHERE reason <> ''
		AND id IN (SELECT refund_id FROM refund_items WHERE owner_id = $1 AND owner_id <> 0)`, userID)
}
