package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// maxReason is the maximum length of the reason of a pause, in characters.
const maxReason = 255

// Paused reports whether the partner is paused: nothing of it is sold, redeemed or authorized, and
// nothing is sent to it.
func (p Partner) Paused() bool { return !p.PausedAt.IsZero() }

// CheckReason refuses an invalid reason of a pause.
func CheckReason(reason string) error {
	_, err := validate.Line("reason", reason, 1, maxReason)
	return err
}

// Pause pauses a partner in the caller's transaction. A paused partner keeps the time of its pause
// and gets the new reason.
func (r *Store) Pause(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, reason string) (Partner, error) {
	reason, err := validate.Line("reason", reason, 1, maxReason)
	if err != nil {
		return Partner{}, err
	}
	return r.setPause(ctx, tx, by, id, "partner.pause", func(p *Partner, now time.Time) {
		if !p.Paused() {
			p.PausedAt = now
		}
		p.PauseReason = reason
	})
}

// Resume ends a pause in the caller's transaction; without one it changes nothing.
func (r *Store) Resume(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64) (Partner, error) {
	return r.setPause(ctx, tx, by, id, "partner.resume", func(p *Partner, _ time.Time) {
		p.PausedAt = time.Time{}
		p.PauseReason = ""
	})
}

// setPause changes the pause under both locks of the partner, in their fixed order: sales wait for
// the first, changes of the partner for the second.
func (r *Store) setPause(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	id int64,
	action string,
	set func(*Partner, time.Time),
) (Partner, error) {
	if _, err := Lock(tx, id).One(ctx); err != nil {
		_, err = orUnknown(Partner{}, err, "lock a partner's licenses")
		return Partner{}, err
	}
	before, err := lock(ctx, tx, id)
	if err != nil {
		return Partner{}, err
	}
	now := r.Now()
	after := before
	set(&after, now)
	if after == before {
		return after, nil
	}
	r.changed(tx, id)
	after.UpdatedAt = now
	tx.Queue(
		`UPDATE partners SET paused_at = $2, pause_reason = $3, updated_at = $4 WHERE id = $1`,
		id,
		after.PausedAt,
		after.PauseReason,
		now,
	)
	tx.Queue(`UPDATE partner_counters SET paused = $2 WHERE partner_id = $1`, id, after.Paused())
	audit.Record(tx, now, by, action, subject(id), before.pause(), after.pause())
	return after, nil
}

// pause returns the state of a pause for an audit entry.
func (p Partner) pause() audit.Facts {
	return audit.Facts{"paused": p.Paused(), "reason": p.PauseReason}
}

// IsPaused reports whether a partner is paused.
func IsPaused(ctx context.Context, r sqldb.Reader, id int64) (bool, error) {
	paused, err := sqldb.One(ctx, r, sqldb.Value[bool], `SELECT paused FROM partner_counters WHERE partner_id = $1`, id)
	if err != nil {
		return false, fmt.Errorf("read whether a partner is paused: %w", err)
	}
	return paused, nil
}

// CheckNotPaused refuses a sale, change or activation for a paused partner. The fault has the
// operator's reason, which must not be shown to buyers. The caller holds the lock of the counters, so
// that a pause takes effect immediately.
func (l Counters) CheckNotPaused(ctx context.Context, tx *sqldb.Tx) error {
	if !l.Paused {
		return nil
	}
	reason, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[string],
		`SELECT pause_reason FROM partners WHERE id = $1`,
		l.PartnerID,
	)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("read why a partner is paused: %w", err)
	}
	return fault.New(fault.Conflict, CodePartnerPaused,
		"The partner is paused (%s): nothing of it can be sold, changed or activated until it is resumed.", reason)
}
