package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// Removable locks the partner until the transaction ends and refuses one that has licenses, which
// are never deleted. No license can be sold while it is locked.
func Removable(ctx context.Context, tx *sqldb.Tx, id int64) error {
	l, err := Lock(tx, id).One(ctx)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Unknown()
	case err != nil:
		return fmt.Errorf("lock the partner's licenses: %w", err)
	case l.Licenses > 0:
		return fault.New(
			fault.Conflict,
			codePartnerHasLicenses,
			"Licenses of this partner were sold (%d), and licenses are never deleted. Pause the partner instead.",
			l.Licenses,
		)
	}
	// FOR UPDATE also waits for writers of the first row that refers to the partner, such as its
	// endpoint. lock does not, and their row would block the deletion.
	_, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT id FROM partners WHERE id = $1`+tx.ForUpdate, id)
	return err
}

// Remove deletes a partner that Removable accepted, with its secrets, plans, product and members,
// and returns its last state. Other packages delete their rows first.
func (r *Store) Remove(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64) (Partner, error) {
	// Rows of users are locked after the partner's, because its members are known only then. A
	// deadlock with a user who joins or leaves is retried.
	list, err := sqldb.All(
		ctx,
		tx,
		scanMember,
		`SELECT `+memberColumns+` FROM members WHERE partner_id = $1 ORDER BY user_id`,
		id,
	)
	if err != nil {
		return Partner{}, fmt.Errorf("find the members of a partner: %w", err)
	}
	for _, m := range list {
		if _, err := r.ranked(ctx, tx, m.UserID, m.Role, ""); err != nil {
			return Partner{}, err
		}
	}
	for _, table := range []string{
		"partner_secrets", "plans", "products", "product_icons", "members", "support_visits",
		"partner_counters",
	} {
		tx.Queue(`DELETE FROM `+table+` WHERE partner_id = $1`, id)
	}
	invitation.Remove(tx, id)
	p, err := sqldb.One(ctx, tx, scan, `DELETE FROM partners WHERE id = $1 RETURNING `+columns, id)
	if err != nil {
		return Partner{}, fmt.Errorf("delete a partner: %w", err)
	}
	audit.Record(tx, r.Now(), by, "partner.delete", subject(id), p.facts(), nil)
	return p, nil
}
