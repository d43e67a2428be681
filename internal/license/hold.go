package license

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Hold is the reason why a license is held, if it is.
type Hold int

// Holds; the zero value means none.
const (
	HoldChargeback Hold = iota + 1
	HoldOther
)

func (h Hold) String() string {
	switch h {
	case HoldChargeback:
		return "chargeback"
	case HoldOther:
		return "held"
	default:
		return ""
	}
}

func (h Hold) reason() event.Reason {
	if h == HoldChargeback {
		return event.Chargeback
	}
	return event.Held
}

// ParseHold parses the reason for a hold; "" is HoldOther.
func ParseHold(s string) (Hold, error) {
	switch s {
	case "", HoldOther.String():
		return HoldOther, nil
	case HoldChargeback.String():
		return HoldChargeback, nil
	default:
		return 0, fault.Field("reason", "must be chargeback or held.")
	}
}

// Cause is the origin of a hold: the operator, or a dispute about a payment. A license is held
// while it has a cause.
type Cause string

// ByOperator is the cause of the operator's own hold.
const ByOperator Cause = "operator"

// ByDispute is the cause of a dispute's hold.
func ByDispute(id string) Cause { return Cause(disputeCause + id) }

// dispute returns the id of the dispute that is the cause.
func (c Cause) dispute() (id string, ok bool) { return strings.CutPrefix(string(c), disputeCause) }

const disputeCause = "dispute:"

// addHold adds a cause to the license. An existing one stays unchanged, and the license shows the
// reason of the first.
func (t *partnerTx) addHold(s *state, cause Cause, why Hold) {
	t.tx.Queue(`INSERT INTO license_holds (license_id, cause, reason, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (license_id, cause) DO NOTHING`, s.ID, string(cause), int(why), t.now)
	if s.Held == 0 {
		s.Held = why
	}
}

// removeHold removes a cause, and reports whether it existed. The license shows the first remaining
// reason.
func (t *partnerTx) removeHold(ctx context.Context, s *state, cause Cause) (stood bool, err error) {
	n, err := t.tx.Exec(ctx, `DELETE FROM license_holds WHERE license_id = $1 AND cause = $2`, s.ID, string(cause))
	if err != nil {
		return false, fmt.Errorf("lift a hold: %w", err)
	}
	next, err := sqldb.One(
		ctx,
		t.tx,
		sqldb.Value[int64],
		`SELECT reason FROM license_holds WHERE license_id = $1 ORDER BY created_at, cause LIMIT 1`,
		s.ID,
	)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return false, fmt.Errorf("read the holds of a license: %w", err)
	}
	s.Held = Hold(next)
	return n > 0, nil
}

// holdsIt reports whether a cause exists.
func (t *partnerTx) holdsIt(ctx context.Context, s *state, cause Cause) (bool, error) {
	n, err := sqldb.One(
		ctx,
		t.tx,
		sqldb.Value[int64],
		`SELECT count(*) FROM license_holds WHERE license_id = $1 AND cause = $2`,
		s.ID,
		string(cause),
	)
	if err != nil {
		return false, fmt.Errorf("read the holds of a license: %w", err)
	}
	return n > 0, nil
}

func errDisputed() error {
	return fault.New(fault.Conflict, CodeLicenseHeld,
		"A dispute about the payment holds the license, not the operator. The hold ends when the dispute is won.")
}

// Hold blocks a license until it is reinstated, regardless of other changes. An existing hold of
// the operator stays unchanged.
func (r *Store) Hold(ctx context.Context, by audit.Actor, key string, why Hold) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.hold(ctx, by, l, ByOperator, why)
}

func (r *Store) hold(ctx context.Context, by audit.Actor, l License, cause Cause, why Hold) (License, error) {
	return r.change(ctx, by, l, "license.hold", why.reason(), func(t *partnerTx, s *state) error {
		t.addHold(s, cause, why)
		return nil
	})
}

// HoldNew does the same as Hold, but refuses a license that the operator already holds. The
// functions in then run in the same transaction, with the held license.
func (r *Store) HoldNew(
	ctx context.Context,
	by audit.Actor,
	key string,
	why Hold,
	then ...func(*sqldb.Tx, License) error,
) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.hold", why.reason(), func(t *partnerTx, s *state) error {
		if s.Held != 0 {
			if stands, err := t.holdsIt(ctx, s, ByOperator); err != nil {
				return err
			} else if stands {
				return fault.New(fault.Conflict, CodeLicenseHeld, "The license is on hold already (%s).", s.Held)
			}
		}
		t.addHold(s, ByOperator, why)
		return nil
	}, then...)
}

// Reinstate lifts only the operator's hold: the status follows from the other facts again, and the
// hold of a dispute stays.
func (r *Store) Reinstate(ctx context.Context, by audit.Actor, key string) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.reinstate", event.Reinstated, func(t *partnerTx, s *state) error {
		return t.reinstate(ctx, s)
	})
}

func (t *partnerTx) reinstate(ctx context.Context, s *state) error {
	if ended(s.chain) {
		return errRefunded()
	}
	stood, err := t.removeHold(ctx, s, ByOperator)
	if err == nil && !stood && s.Held != 0 {
		return errDisputed()
	}
	return err
}

// LiftHold does the same as Reinstate, but refuses a license that is not held. The functions in
// then run in the same transaction, with the license.
func (r *Store) LiftHold(
	ctx context.Context,
	by audit.Actor,
	key string,
	then ...func(*sqldb.Tx, License) error,
) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	return r.change(ctx, by, l, "license.reinstate", event.Reinstated, func(t *partnerTx, s *state) error {
		if s.Held == 0 {
			return fault.New(fault.Conflict, codeLicenseNotHeld, "The license is not on hold.")
		}
		return t.reinstate(ctx, s)
	}, then...)
}
