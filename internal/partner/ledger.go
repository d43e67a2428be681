package partner

import (
	"time"

	"claviger/internal/sqldb"
)

// Ledger numbers a partner's licenses and events. The transaction that locked it is
// the only one that changes the licenses until it ends, so that ordinals are dense
// and ordinals, event ids and times rise in the order of commits.
type Ledger struct {
	PartnerID int64
	Licenses  int64 // how many there are: the highest ordinal given
	Events    int64 // likewise
	Paused    bool  // the partner is; see CheckNotPaused

	clock time.Time
}

// Lock queues the lock of the partner's ledger. Every writer of licenses locks it
// before anything else in its transaction, so that writers cannot deadlock. The
// result is sqldb.ErrNone if there is no such partner.
func Lock(tx *sqldb.Tx, partnerID int64) *sqldb.Result[Ledger] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, l *Ledger) error {
		return r.Scan(&l.PartnerID, &l.Licenses, &l.Events, &l.clock, &l.Paused)
	}, `SELECT partner_id, licenses, events, clock, paused FROM partner_counters WHERE partner_id = $1`+tx.ForUpdate(), partnerID)
}

// Stamp returns the time of this transaction: now, or a microsecond after the
// partner's latest change if the clock of another node was ahead of ours.
func (l *Ledger) Stamp(now time.Time) time.Time {
	if !now.After(l.clock) {
		now = l.clock.Add(time.Microsecond)
	}
	l.clock = now
	return now
}

// Save queues the ledger's new numbers. Every change of a license calls it, also
// when the numbers are the same: the revision must rise (it is the column turns).
func (l *Ledger) Save(tx *sqldb.Tx) {
	tx.Queue(`UPDATE partner_counters SET turns = turns + 1, licenses = $2, events = $3, clock = $4 WHERE partner_id = $1`,
		l.PartnerID, l.Licenses, l.Events, l.clock)
}
