package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// Rotation is a secret that replaced another. Value is shown only once.
type Rotation struct {
	What          Secret
	Value         string    // "" for a repeat
	PreviousUntil time.Time // when the replaced one ends
	Repeated      bool      // an earlier request made the secret, and showed it
}

// Renewal asks for a new secret to replace another.
type Renewal struct {
	What    Secret
	Name    string        // of an API key; "" is MainKey
	Overlap time.Duration // how long the replaced one stays valid

	// Replaces is the credential to replace. If another has already replaced it, the renewal is
	// refused. 0: the current one.
	Replaces int64

	// New requires that there is none to replace.
	New bool

	// Once recognizes a repeat, which makes no second secret and cannot show the first.
	Once idempotency.Request
}

// Rotate replaces a secret of a partner; of its API keys, the main one. See Renew.
func (r *Store) Rotate(
	ctx context.Context,
	by audit.Actor,
	id int64,
	what Secret,
	overlap time.Duration,
) (Rotation, error) {
	return r.Renew(ctx, by, id, Renewal{What: what, Overlap: overlap})
}

// Renew replaces a secret of a partner. The replaced one stays valid for the overlap; one replaced
// earlier ends immediately, so that at most two are valid. With a single key, renewing the main API
// key or the webhook secret renews both.
func (r *Store) Renew(ctx context.Context, by audit.Actor, id int64, n Renewal) (Rotation, error) {
	if n.Name == "" || n.What != APIKey {
		n.Name = MainKey
	}
	if err := n.What.valid(); err != nil {
		return Rotation{}, err
	}
	if err := validOverlap(n.Overlap); err != nil {
		return Rotation{}, err
	}
	var done Rotation
	err := r.once(ctx, n.Once, &done, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		kind := p.stored(n.What)
		if err := replaceable(ctx, tx, p, kind, n); err != nil {
			return err
		}
		r.changed(tx, id)
		if p.signs(kind, n.Name) {
			// Otherwise the one from before a switch of single_key would be a third one that signs.
			if _, err := p.endSigning(ctx, tx); err != nil {
				return err
			}
		}
		done = r.replace(tx, p, n)
		audit.Record(
			tx,
			r.Now(),
			by,
			"partner.rotate",
			subject(id),
			nil,
			audit.Facts{
				"what":      string(n.What),
				"overlap_s": int64(n.Overlap / time.Second),
				"ending":    tail(done.Value),
			},
		)
		return nil
	})
	if err != nil {
		return Rotation{}, fmt.Errorf("rotate a secret: %w", err)
	}
	return done, nil
}

// once runs do in a transaction, unless the request was made before: then done is a repeat.
func (r *Store) once(ctx context.Context, q idempotency.Request, done *Rotation, do func(tx *sqldb.Tx) error) error {
	return r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var nothing struct{}
		found, err := idempotency.Lookup(ctx, tx, q, &nothing)
		*done = (Rotation{Repeated: found})
		if found || err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		return idempotency.Store(tx, q, nothing, r.Now())
	})
}

// replaceable refuses the renewal of an unknown key, and of one that was replaced or revoked since
// the sender saw it.
func replaceable(ctx context.Context, tx *sqldb.Tx, p Partner, kind Secret, n Renewal) error {
	current, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT id FROM partner_secrets
		WHERE partner_id = $1 AND kind = $2 AND name = $3 AND expires_at = 0 ORDER BY id DESC
		LIMIT 1`, p.ID, kind, n.Name)
	switch {
	case err != nil && !errors.Is(err, sqldb.ErrNone):
		return fmt.Errorf("find the secret to replace: %w", err)
	case n.Replaces != 0 && current != n.Replaces, n.New && current != 0:
		return credentialChanged()
	case current == 0 && n.Name != MainKey:
		return unknownCredential()
	}
	return nil
}

// Switch ends a rotation's overlap now: the replaced secret becomes invalid, and only the new one
// signs webhooks. Without an overlap it changes nothing.
func (r *Store) Switch(ctx context.Context, by audit.Actor, id int64, what Secret) error {
	if err := what.valid(); err != nil {
		return err
	}
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		r.changed(tx, id)
		ended, err := r.end(ctx, tx, p, p.stored(what))
		if ended > 0 {
			audit.Record(tx, r.Now(), by, "partner.switch", subject(id), nil, audit.Facts{"what": string(what)})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("end an overlap: %w", err)
	}
	return nil
}

// end deletes the replaced secrets of a kind, and returns their number.
func (r *Store) end(ctx context.Context, tx *sqldb.Tx, p Partner, kind Secret) (int64, error) {
	ended, err := tx.Exec(
		ctx,
		`DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND expires_at > $3`,
		p.ID,
		kind,
		r.Now(),
	)
	if err != nil || !p.signs(kind, MainKey) {
		return ended, err
	}
	left, err := p.endSigning(ctx, tx)
	return ended + left, err
}

func (s Secret) valid() error {
	switch s {
	case ClientSecret, APIKey, WebhookSecret:
		return nil
	default:
		return fault.Field("what", "must be client_secret, api_key or webhook_secret.")
	}
}

// stored returns the kind under which a secret is stored: a single key is an API key.
func (p Partner) stored(what Secret) Secret {
	if p.SingleKey && what == WebhookSecret {
		return APIKey
	}
	return what
}

// replace queues the rows of a rotation, under the partner's lock.
func (r *Store) replace(tx *sqldb.Tx, p Partner, n Renewal) Rotation {
	kind := p.stored(n.What)
	now := r.Now()
	until := now.Add(n.Overlap)
	expire(tx, p.ID, kind, n.Name, n.Overlap, until)
	value := newSecret(kind)
	r.storeSecret(tx, p, kind, n.Name, value, now)
	tx.Queue(`UPDATE partners SET updated_at = $2 WHERE id = $1`, p.ID, now)
	return Rotation{What: n.What, Value: value, PreviousUntil: until}
}
