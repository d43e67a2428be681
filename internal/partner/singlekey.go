package partner

import (
	"context"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Issued has the new secrets of a change, in plain text. They are shown only once. It is empty if
// the change replaced none.
type Issued struct {
	APIKey        string
	WebhookSecret string    // with a single key, the API key
	PreviousUntil time.Time // end of the replaced ones
}

// validOverlap refuses an invalid overlap.
func validOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > MaxOverlap {
		return fault.Field(
			"overlap_s",
			"must be from 0 (the old one ends immediately) to %d seconds.",
			int64(MaxOverlap/time.Second),
		)
	}
	return nil
}

// reissue queues the switch between one key and two, under the partner's lock; p is the partner
// after the switch. The API key and the webhook secret are both replaced: one secret must not
// become two, nor two one. The replaced ones stay valid for overlap, as with any rotation.
// Non-empty fields of given are used instead of generated ones.
func (r *Store) reissue(tx *sqldb.Tx, by audit.Actor, p Partner, given Credentials, overlap time.Duration) Issued {
	c := given.filled(p.SingleKey)
	now := r.Now()
	until := now.Add(overlap)
	for _, kind := range []Secret{APIKey, WebhookSecret} {
		expire(tx, p.ID, kind, MainKey, overlap, until)
	}
	r.storeSecret(tx, p, APIKey, MainKey, c.APIKey, now)
	if !p.SingleKey {
		r.storeSecret(tx, p, WebhookSecret, MainKey, c.WebhookSecret, now)
	}
	audit.Record(tx, now, by, "partner.rotate", subject(p.ID), nil,
		audit.Facts{"what": "single_key", "single_key": p.SingleKey, "overlap_s": int64(overlap / time.Second)})
	return Issued{APIKey: c.APIKey, WebhookSecret: c.WebhookSecret, PreviousUntil: until}
}

// expire queues the end of the valid secrets of a kind and name. Already expiring ones are deleted,
// so that at most two are valid.
func expire(tx *sqldb.Tx, id int64, kind Secret, name string, overlap time.Duration, until time.Time) {
	tx.Queue(
		`DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND name = $3 AND expires_at <> 0`,
		id,
		kind,
		name,
	)
	if overlap == 0 {
		tx.Queue(`DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND name = $3`, id, kind, name)
	} else {
		tx.Queue(`UPDATE partner_secrets SET expires_at = $4 WHERE partner_id = $1 AND kind = $2
			AND name = $3`, id, kind, name, until)
	}
}

// endSigning ends the signing by secrets from before a change of single_key, and returns their
// number. With a single key, it deletes the earlier webhook secret. Otherwise the earlier single
// key stays an API key until its overlap ends.
func (p Partner) endSigning(ctx context.Context, tx *sqldb.Tx) (int64, error) {
	if p.SingleKey {
		return tx.Exec(ctx, `DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2`, p.ID, WebhookSecret)
	}
	return tx.Exec(
		ctx,
		`UPDATE partner_secrets SET sealed = '' WHERE partner_id = $1 AND kind = $2 AND sealed <> ''`,
		p.ID,
		APIKey,
	)
}

// signs reports whether a secret signs the partner's webhooks: with a single key, the
// main API key does.
func (p Partner) signs(kind Secret, name string) bool {
	return kind == WebhookSecret || kind == APIKey && p.SingleKey && name == MainKey
}
