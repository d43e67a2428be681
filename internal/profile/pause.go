package profile

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Pause pauses a partner. The reason is shown only to operators.
func (b *Store) Pause(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	reason string,
) (partner.Partner, Profile, error) {
	return b.pause(ctx, partnerID, func(tx *sqldb.Tx) (partner.Partner, error) {
		return b.Partners.Pause(ctx, tx, by, partnerID, reason)
	})
}

// Resume ends a pause.
func (b *Store) Resume(ctx context.Context, by audit.Actor, partnerID int64) (partner.Partner, Profile, error) {
	return b.pause(ctx, partnerID, func(tx *sqldb.Tx) (partner.Partner, error) {
		p, err := b.Partners.Resume(ctx, tx, by, partnerID)
		if err == nil {
			b.changed(tx, partnerID, Resumed)
		}
		return p, err
	})
}

// pause sets or ends a pause and also reads the profile.
func (b *Store) pause(
	ctx context.Context,
	partnerID int64,
	do func(*sqldb.Tx) (partner.Partner, error),
) (p partner.Partner, f Profile, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if p, err = do(tx); err != nil {
			return err
		}
		f, err = b.Read(ctx, tx, partnerID)
		return err
	})
	if err != nil {
		return partner.Partner{}, Profile{}, fmt.Errorf("pause or resume a partner: %w", err)
	}
	return p, f, nil
}
