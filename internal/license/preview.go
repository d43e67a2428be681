package license

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Effect is what an act does to one license.
type Effect struct {
	Before, After License
	Version       string       // of the license before, for IfUnchanged
	Event         event.Kind   // the event that the partner is told of; 0: none
	Reason        event.Reason // of the event
	Refunded      int          // links of the chain that it closes
	Reopened      int          // links that it reopens
}

// errTakenBack ends the transaction of a preview.
var errTakenBack = errors.New("a preview is taken back")

// Preview returns what acts would do to licenses. It runs them by the code that
// carries them out, in transactions that it takes back: nothing is stored and nobody
// is told. An act that would be refused is refused here in the same words.
func (r *Registry) Preview(acts func(*Registry) error) ([]Effect, error) {
	dry := *r
	dry.effects = &[]Effect{}
	if err := acts(&dry); err != nil {
		return nil, err
	}
	return *dry.effects, nil
}

// write runs a transaction, which a preview takes back. Within another one, fn is part of
// that.
func (r *Registry) write(ctx context.Context, fn func(*sqldb.Tx) error) error {
	if r.tx != nil {
		return fn(r.tx)
	}
	if r.effects == nil {
		return r.DB.Write(ctx, fn)
	}
	before := *r.effects
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		*r.effects = before // a transaction may run more than once
		if err := fn(tx); err != nil {
			return err
		}
		return errTakenBack
	})
	if errors.Is(err, errTakenBack) {
		return nil
	}
	*r.effects = before
	return err
}

// note tells a preview what becomes of a license.
func (t *partnerTx) note(s *state, changed bool, reason event.Reason) {
	if t.effects == nil {
		return
	}
	e := Effect{Before: s.was, After: s.License, Version: version(s.was, s.seen)}
	if changed {
		e.Event, e.Reason = event.Kind(s.Status), reason
	}
	for i, k := range s.seen {
		switch now := s.chain[i].refundID; {
		case k.refundID == 0 && now != 0:
			e.Refunded++
		case k.refundID != 0 && now == 0:
			e.Reopened++
		}
	}
	*t.effects = append(*t.effects, e)
}

// IfUnchanged returns a registry whose acts refuse a license that is not as the caller
// saw it: seen has the versions by license key, as Inspect returns them. The check is
// made under the lock of the act.
func (r *Registry) IfUnchanged(seen map[string]string) *Registry {
	strict := *r
	strict.seen = seen
	return &strict
}

// version stands for everything that an act decides by, and for nothing else.
func version(l License, chain []link) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %t %t %d %t %d", l.Status, l.Tier, l.OwnerID, l.Redeemed, l.Released, l.Held, l.Erased, l.Epoch)
	for _, k := range chain {
		fmt.Fprintf(&b, " %d:%d:%d:%d", k.seq, k.purchaseID, k.tier, k.refundID)
	}
	return secret.Hash(b.String())[:16]
}

func errChanged() error {
	return fault.New(fault.Conflict, CodeLicenseChanged,
		"The license has changed since this was shown, so nothing was done. Look at it again, then decide.")
}
