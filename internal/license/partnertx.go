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
	"claviger/internal/stats"
)

// partnerTx is a transaction that holds the lock of one partner's counters and may
// change its licenses. All its rows have the same time.
type partnerTx struct {
	tx       *sqldb.Tx
	log      *event.Log
	by       audit.Actor
	counters partner.Counters
	now      time.Time
	ids      []int64        // unused event ids, allocated under the lock
	plans    map[int]string // names of plans by tier, for the events

	onUncovered   func(ctx context.Context, tx *sqldb.Tx, at time.Time, lost, settled []int64) error // may be nil
	lost, settled []int64                                                                            // for onUncovered
	returned      []int64                                                                            // see postReturned
	way           way
	seen          map[string]string

	tellOwner func(ctx context.Context, tx *sqldb.Tx, news []News) error // may be nil
	news      []News                                                     // not yet passed to tellOwner; see tell
	quiet     bool                                                       // the caller tells owners about refunds
}

// pendingTx is a partnerTx with queued queries. The command queues its own queries after them, so
// that all of them take one round trip.
type pendingTx struct {
	partnerID int64
	counters  *sqldb.Result[partner.Counters]
	ids       *sqldb.Result[int64]
	plans     *sqldb.Result[partner.Plan]
}

// queueTx queues the lock of a partner, for a command that makes at most this number of events.
func queueTx(tx *sqldb.Tx, partnerID int64, events int) pendingTx {
	return pendingTx{
		partnerID,
		partner.Lock(tx, partnerID),
		event.NextIDs(tx, events),
		partner.QueuePlanNames(tx, partnerID),
	}
}

// queueSaleTx does the same as queueTx, for a command that needs the plans of some tiers only.
func queueSaleTx(tx *sqldb.Tx, partnerID int64, events, lowest, highest int) pendingTx {
	return pendingTx{
		partnerID,
		partner.Lock(tx, partnerID),
		event.NextIDs(tx, events),
		partner.QueuePlanNamesOf(tx, partnerID, lowest, highest),
	}
}

// partnerTx waits for the lock. It reads the time under the lock, so that times rise in the order
// of commits.
func (r *Store) partnerTx(ctx context.Context, tx *sqldb.Tx, by audit.Actor, a pendingTx) (*partnerTx, error) {
	l, err := counters(ctx, a.counters, a.partnerID)
	if err != nil {
		return nil, err
	}
	ids, err := a.ids.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("allocate event ids: %w", err)
	}
	t := &partnerTx{
		tx:          tx,
		log:         r.Events,
		by:          by,
		counters:    l,
		ids:         ids,
		plans:       map[int]string{},
		onUncovered: r.OnUncovered,
		way:         r.way(),
		seen:        r.seen,
		tellOwner:   r.Tell,
	}
	plans, err := a.plans.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the names of plans: %w", err)
	}
	for _, p := range plans {
		t.plans[p.Tier] = p.Name
	}
	t.now = t.counters.Stamp(r.Now())
	return t, nil
}

// requirePlan refuses a tier that is not sold.
func (t *partnerTx) requirePlan(tier int) error {
	if _, ok := t.plans[tier]; !ok {
		return errUnknownTier(tier)
	}
	return nil
}

// nextEventIDs allocates event ids for a command that could not know their number before.
func (t *partnerTx) nextEventIDs(ctx context.Context, events int) error {
	ids, err := event.NextIDs(t.tx, events).All(ctx)
	if err != nil {
		return fmt.Errorf("allocate event ids: %w", err)
	}
	t.ids = ids
	return nil
}

// state is a license during a command: its state when read, and its changes by the command.
type state struct {
	License
	chain []link
	was   License
	seen  []link // the chain as it was read
}

func newState(l License, chain []link) *state {
	return &state{License: l, chain: chain, was: l, seen: append([]link(nil), chain...)}
}

// writeChange writes the result of a command: the derived status and tier, exactly one event if
// they changed and none if they did not, and the audit entry. A command that changed nothing writes
// nothing.
func (t *partnerTx) writeChange(s *state, action string, reason event.Reason) {
	s.Status, s.Tier = derive(s.License, s.chain)
	s.Ended = ended(s.chain)
	changed := s.Status != s.was.Status || s.Tier != s.was.Tier
	t.way.note(s, changed, reason)
	if changed {
		s.UpdatedAt = t.now
		s.eventAt = laterMillis(t.now, s.eventAt)
	}
	t.saveChain(s)
	t.countEnd(s)
	t.noteUncovered(s)
	if s.License != s.was {
		t.save(s)
	}
	if changed {
		t.appendEvent(s, reason)
	}
	if s.License != s.was || len(s.chain) != len(s.seen) || !equalLinks(s.chain, s.seen) {
		audit.Record(t.tx, t.now, t.by, action, "license:"+s.Key, facts(s.was, s.seen), facts(s.License, s.chain))
		t.addNews(s, reason)
	}
}

// countEnd counts a license that ended or is no longer ended. A license on hold may end without an
// event.
func (t *partnerTx) countEnd(s *state) {
	switch {
	case s.was.Ended == s.Ended:
	case s.Ended:
		stats.CountRefund(t.tx, s.PartnerID, s.CreatedAt, 1)
	default:
		stats.CountRefund(t.tx, s.PartnerID, s.CreatedAt, -1)
	}
}

// noteUncovered collects paid links that stopped standing, uncovered ones that stand again, and
// those that were refunded.
func (t *partnerTx) noteUncovered(s *state) {
	for i, k := range s.chain {
		was := i < len(s.seen) && uncovered(s.seen, i)
		is := uncovered(s.chain, i)
		closed := i < len(s.seen) && s.seen[i].refundID == 0 && k.refundID != 0
		if i < len(s.seen) && s.seen[i].refundID != k.refundID {
			t.returned = append(t.returned, k.purchaseID)
		}
		switch {
		case k.amount == 0 || was == is && !closed:
		case is:
			t.lost = append(t.lost, k.purchaseID)
		default:
			t.settled = append(t.settled, k.purchaseID)
		}
	}
}

// laterMillis returns the time of a license's next event: now, in milliseconds, and later than the
// previous one.
func laterMillis(now, before time.Time) time.Time {
	at := event.Millis(now)
	if !at.After(before) {
		at = before.Add(time.Millisecond)
	}
	return at
}

func (t *partnerTx) save(s *state) {
	t.tx.Queue(
		`UPDATE licenses SET status = $2, tier = $3, owner_id = $4, redeemed = $5, released = $6, held = $7,
			erased = $8,
		epoch = $9, event_ms = $10, updated_at = $11, ended = $12 WHERE id = $1`,
		s.ID,
		int(s.Status),
		s.Tier,
		s.OwnerID,
		s.Redeemed,
		s.Released,
		int(s.Held),
		s.Erased,
		s.Epoch,
		s.eventAt.UnixMilli(),
		s.UpdatedAt,
		s.Ended,
	)
	if s.Status != s.was.Status {
		t.count(s.was.Status, paging.BlockOf(s.Ord), -1)
		t.count(s.Status, paging.BlockOf(s.Ord), 1)
	}
}

// count changes the number of licenses with a status in a block of ordinals.
func (t *partnerTx) count(s event.Status, block, n int64) {
	t.tx.Queue(`INSERT INTO license_blocks (partner_id, status, block, n) VALUES ($1, $2, $3, $4)
		ON CONFLICT (partner_id, status, block) DO UPDATE SET n = license_blocks.n + excluded.n`,
		t.counters.PartnerID, int(s), block, n)
}

// saveChain inserts new links and updates those whose refund changed.
func (t *partnerTx) saveChain(s *state) {
	for i, k := range s.chain {
		switch {
		case i >= len(s.seen):
			t.tx.Insert("purchase_links", linkColumns, [][]any{k.row(s.ID)})
		case k != s.seen[i]:
			t.tx.Queue(
				`UPDATE purchase_links SET refund_id = $3 WHERE license_id = $1 AND seq = $2`,
				s.ID,
				k.seq,
				k.refundID,
			)
		}
	}
}

// appendEvent writes the event of a change of status or tier.
func (t *partnerTx) appendEvent(s *state, reason event.Reason) {
	t.log.Append(t.tx, t.draft(s, reason))
}

// draft returns the event of a change of status or tier, with the next ordinal and id.
func (t *partnerTx) draft(s *state, reason event.Reason) event.Draft {
	t.counters.Events++
	e := event.Event{
		ID: t.ids[0], PartnerID: s.PartnerID, LicenseID: s.ID, LicenseKey: s.Key,
		Kind: event.Kind(s.Status), Tier: s.Tier, Reason: reason, At: s.eventAt, CreatedAt: t.now,
	}
	t.ids = t.ids[1:]
	if s.was.Tier != s.Tier {
		e.PreviousTier = s.was.Tier
	}
	return event.Draft{Event: e, Ord: t.counters.Events, Was: s.was.Status, PlanName: t.plans[s.Tier]}
}

func equalLinks(a, b []link) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// facts returns the state of a license for an audit entry.
func facts(l License, chain []link) audit.Facts {
	open := 0
	for _, k := range chain {
		if k.refundID == 0 {
			open++
		}
	}
	return audit.Facts{
		"status": l.Status.String(), "tier": l.Tier, "owner_id": l.OwnerID, "redeemed": l.Redeemed,
		"released": l.Released,
		"held":     l.Held.String(), "erased": l.Erased, "purchases": len(chain), "open_purchases": open,
	}
}
