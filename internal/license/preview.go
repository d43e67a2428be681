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

// Effect is the effect of an act on one license.
type Effect struct {
	Before, After License
	Version       string       // of the license before, for IfUnchanged
	Event         event.Kind   // the event sent to the partner; 0: none
	Reason        event.Reason // of the event
	Refunded      int          // number of links that it closes
	Reopened      int          // number of links that it reopens
}

// errTakenBack rolls back the transaction of a preview.
var errTakenBack = errors.New("a preview is taken back")

// Preview returns the effects of acts on licenses. It runs the code of the acts in transactions
// that it rolls back: nothing is stored and no one is notified. Refusals are the same as those of
// the act.
func (r *Store) Preview(acts func(*Store) error) ([]Effect, error) {
	dry := *r
	p := &preview{effects: []Effect{}}
	dry.acts = p
	dry.Tell = nil
	if err := acts(&dry); err != nil {
		return nil, err
	}
	return p.effects, nil
}

// preview is the way of acts that are rolled back.
type preview struct {
	commits
	effects []Effect
}

func (p *preview) answersInside() bool { return true }

func (p *preview) write(ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) error {
	before := p.effects
	err := db.Write(sqldb.InJob(ctx), func(tx *sqldb.Tx) error {
		p.effects = before // a transaction may run more than once
		if err := fn(tx); err != nil {
			return err
		}
		return errTakenBack
	})
	if errors.Is(err, errTakenBack) {
		return nil
	}
	p.effects = before
	return err
}

func (p *preview) note(s *state, changed bool, reason event.Reason) {
	e := Effect{Before: s.was, After: s.License, Version: version(s.was, s.seen)}
	if changed {
		e.Event = event.Kind(s.Status)
		e.Reason = reason
	}
	for i, k := range s.seen {
		switch now := s.chain[i].refundID; {
		case k.refundID == 0 && now != 0:
			e.Refunded++
		case k.refundID != 0 && now == 0:
			e.Reopened++
		}
	}
	p.effects = append(p.effects, e)
}

// IfUnchanged returns a registry whose acts refuse a license that has changed since the caller saw
// it. seen has the versions by license key, as Inspect returns them. The check runs under the lock
// of the act.
func (r *Store) IfUnchanged(seen map[string]string) *Store {
	strict := *r
	strict.seen = seen
	return &strict
}

// version returns a hash of exactly the state that acts depend on.
func version(l License, chain []link) string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%d %d %d %t %t %d %t %d",
		l.Status,
		l.Tier,
		l.OwnerID,
		l.Redeemed,
		l.Released,
		l.Held,
		l.Erased,
		l.Epoch,
	)
	for _, k := range chain {
		fmt.Fprintf(&b, " %d:%d:%d:%d", k.seq, k.purchaseID, k.tier, k.refundID)
	}
	return secret.Hash(b.String())[:16]
}

func errChanged() error {
	return fault.New(fault.Conflict, CodeLicenseChanged,
		"The license has changed since this was shown, so nothing was done. Look at it again, then decide.")
}
