package partner

import (
	"time"

	"claviger/internal/sqldb"
)

// Counters numbers a partner's licenses and events. Only the transaction that locked it changes the
// licenses until it ends. So ordinals are dense, and ordinals, event ids and times rise in the
// order of commits.
type Counters struct {
	PartnerID int64
	Licenses  int64 // number of licenses, and the highest ordinal
	Events    int64 // likewise for events
	Paused    bool  // see CheckNotPaused

	clock time.Time
}

// Lock queues the lock of the partner's counters. Every writer of licenses locks it before anything
// else in its transaction, so that writers cannot deadlock. The result is sqldb.ErrNone if the
// partner does not exist.
func Lock(tx *sqldb.Tx, partnerID int64) *sqldb.Result[Counters] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, l *Counters) error {
		return r.Scan(&l.PartnerID, &l.Licenses, &l.Events, &l.clock, &l.Paused)
	}, `SELECT partner_id, licenses, events, clock, paused FROM partner_counters
		WHERE partner_id = $1`+tx.ForUpdate, partnerID)
}

// Stamp returns the time of this transaction: now, or a microsecond after the
// partner's latest change if the clock of another node was ahead of ours.
func (l *Counters) Stamp(now time.Time) time.Time {
	if !now.After(l.clock) {
		now = l.clock.Add(time.Microsecond)
	}
	l.clock = now
	return now
}

// Save queues the new numbers. Every change of a license calls it, even if the numbers are
// the same: the revision (the column turns) must rise.
func (l *Counters) Save(tx *sqldb.Tx) {
	tx.Queue(
		`UPDATE partner_counters SET turns = turns + 1, licenses = $2, events = $3, clock = $4 WHERE partner_id = $1`,
		l.PartnerID,
		l.Licenses,
		l.Events,
		l.clock,
	)
}
