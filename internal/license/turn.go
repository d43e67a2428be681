package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// turn is one partner's turn to have its licenses changed: its ledger is held to
// the end of the transaction, one time serves for all its rows.
type turn struct {
	tx     *sqldb.Tx
	log    *event.Log
	by     audit.Actor
	ledger partner.Ledger
	now    time.Time
	ids    []int64        // event ids drawn under the lock and not used yet
	plans  map[int]string // names of plans by tier, for the events
}

// asked is a turn that was asked for; what else the command must know is asked
// after it, and all of it goes to the database together.
type asked struct {
	partnerID int64
	ledger    *sqldb.Result[partner.Ledger]
	ids       *sqldb.Result[int64]
	plans     *sqldb.Result[partner.Plan] // nil: the command reads the one plan that it needs
}

// ask asks for the turn, for a command that makes at most so many events.
func ask(tx *sqldb.Tx, partnerID int64, events int) asked {
	a := askForSale(tx, partnerID, events)
	a.plans = partner.AskPlanNames(tx, partnerID)
	return a
}

// askForSale is ask for a command that reads the plan it sells and names it itself.
func askForSale(tx *sqldb.Tx, partnerID int64, events int) asked {
	return asked{partnerID: partnerID, ledger: partner.Lock(tx, partnerID), ids: event.Number(tx, events)}
}

// turn waits for it. The time is read under the lock, so that times rise in the
// order of commits.
func (r *Registry) turn(ctx context.Context, tx *sqldb.Tx, by audit.Actor, a asked) (*turn, error) {
	l, err := ledger(ctx, a.ledger, a.partnerID)
	if err != nil {
		return nil, err
	}
	ids, err := a.ids.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("draw event ids: %w", err)
	}
	t := &turn{tx: tx, log: r.Events, by: by, ledger: l, ids: ids, plans: map[int]string{}}
	if a.plans != nil {
		plans, err := a.plans.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the names of plans: %w", err)
		}
		for _, p := range plans {
			t.plans[p.Tier] = p.Name
		}
	}
	t.now = t.ledger.Stamp(r.Now())
	return t, nil
}

// draw takes event ids for a command that learns only now how many it may need.
func (t *turn) draw(ctx context.Context, events int) error {
	ids, err := event.Number(t.tx, events).All(ctx)
	if err != nil {
		return fmt.Errorf("draw event ids: %w", err)
	}
	t.ids = ids
	return nil
}

// state is a license under change: as it was found, and as the command has it.
type state struct {
	License
	chain []link
	was   License
	seen  []link // the chain as it was found
}

func begin(l License, chain []link) *state {
	return &state{License: l, chain: chain, was: l, seen: append([]link(nil), chain...)}
}

// settle writes what a command made of a license: the derived status and tier,
// exactly one event when they changed and none when they did not, and the audit
// entry. A command that changed nothing leaves no trace.
func (t *turn) settle(s *state, action string, reason event.Reason) {
	s.Status, s.Tier = derive(s.License, s.chain)
	changed := s.Status != s.was.Status || s.Tier != s.was.Tier
	if changed {
		s.UpdatedAt = t.now
		s.eventAt = laterMillis(t.now, s.eventAt)
	}
	t.saveChain(s)
	if s.License != s.was {
		t.save(s)
	}
	if changed {
		t.announce(s, reason)
	}
	if s.License != s.was || len(s.chain) != len(s.seen) || !equal(s.chain, s.seen) {
		audit.Record(t.tx, t.now, t.by, action, "license:"+s.Key, facts(s.was, s.seen), facts(s.License, s.chain))
	}
}

// laterMillis is the time of a license's next event: now, in milliseconds, and
// later than the one before.
func laterMillis(now, before time.Time) time.Time {
	at := event.Millis(now)
	if !at.After(before) {
		at = before.Add(time.Millisecond)
	}
	return at
}

func (t *turn) save(s *state) {
	t.tx.Queue(`UPDATE licenses SET status = $2, tier = $3, owner_id = $4, redeemed = $5, released = $6, held = $7, erased = $8,
		epoch = $9, event_ms = $10, updated_at = $11 WHERE id = $1`,
		s.ID, int(s.Status), s.Tier, s.OwnerID, s.Redeemed, s.Released, int(s.Held), s.Erased,
		s.Epoch, s.eventAt.UnixMilli(), s.UpdatedAt)
	if s.Status != s.was.Status {
		t.count(s.was.Status, paging.BlockOf(s.Ord), -1)
		t.count(s.Status, paging.BlockOf(s.Ord), 1)
	}
}

// count keeps how many licenses of a block of ordinals have a status.
func (t *turn) count(s event.Status, block, n int64) {
	t.tx.Queue(`INSERT INTO license_blocks (partner_id, status, block, n) VALUES ($1, $2, $3, $4)
		ON CONFLICT (partner_id, status, block) DO UPDATE SET n = license_blocks.n + excluded.n`,
		t.ledger.PartnerID, int(s), block, n)
}

// saveChain writes new links and those whose refund changed.
func (t *turn) saveChain(s *state) {
	for i, k := range s.chain {
		switch {
		case i >= len(s.seen):
			t.tx.Queue(`INSERT INTO purchase_links (license_id, seq, purchase_id, tier, refund_id) VALUES ($1, $2, $3, $4, $5)`,
				s.ID, k.seq, k.purchaseID, k.tier, k.refundID)
		case k != s.seen[i]:
			t.tx.Queue(`UPDATE purchase_links SET refund_id = $3 WHERE license_id = $1 AND seq = $2`, s.ID, k.seq, k.refundID)
		}
	}
}

// announce writes the event that a change of status or tier makes.
func (t *turn) announce(s *state, reason event.Reason) {
	t.ledger.Events++
	e := event.Event{
		ID: t.ids[0], PartnerID: s.PartnerID, LicenseID: s.ID, LicenseKey: s.Key,
		Kind: event.Kind(s.Status), Tier: s.Tier, Reason: reason, At: s.eventAt, CreatedAt: t.now,
	}
	t.ids = t.ids[1:]
	if s.was.Tier != s.Tier {
		e.PreviousTier = s.was.Tier
	}
	t.log.Append(t.tx, event.Draft{Event: e, Ord: t.ledger.Events, Was: s.was.Status, PlanName: t.plans[s.Tier]})
}

func equal(a, b []link) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// facts is what an audit entry says of a license.
func facts(l License, chain []link) audit.Facts {
	open := 0
	for _, k := range chain {
		if k.refundID == 0 {
			open++
		}
	}
	return audit.Facts{
		"status": l.Status.String(), "tier": l.Tier, "owner_id": l.OwnerID, "redeemed": l.Redeemed, "released": l.Released,
		"held": l.Held.String(), "erased": l.Erased, "purchases": len(chain), "open_purchases": open,
	}
}
