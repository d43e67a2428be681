package partner

import (
	"time"

	"claviger/internal/sqldb"
)

// Ledger numbers what happens to a partner's licenses. Whoever holds it is the
// only one to change them until the transaction ends, so that ordinals are
// dense and rise, with event ids and times, in the order of commits.
type Ledger struct {
	PartnerID int64
	Licenses  int64 // how many there are: the highest ordinal given
	Events    int64 // likewise
	Paused    bool  // the partner is; see Open

	clock time.Time
}

// Lock waits for the partner's turn. Every writer of licenses asks for it before
// anything else in its transaction, so that none can deadlock with another.
// There is no answer (sqldb.ErrNone) when there is no such partner.
func Lock(tx *sqldb.Tx, partnerID int64) *sqldb.Result[Ledger] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, l *Ledger) error {
		return r.Scan(&l.PartnerID, &l.Licenses, &l.Events, &l.clock, &l.Paused)
	}, `SELECT partner_id, licenses, events, clock, paused FROM partner_counters WHERE partner_id = $1`+tx.ForUpdate(), partnerID)
}

// Stamp returns the time of this turn: now, or a little after the partner's
// latest change where the clock of another node was ahead of ours.
func (l *Ledger) Stamp(now time.Time) time.Time {
	if !now.After(l.clock) {
		now = l.clock.Add(time.Microsecond)
	}
	l.clock = now
	return now
}

// Save queues the ledger's new numbers. Whoever changed a license calls it, also
// when the numbers are the same: turns tells that what was read before is old.
func (l *Ledger) Save(tx *sqldb.Tx) {
	tx.Queue(`UPDATE partner_counters SET turns = turns + 1, licenses = $2, events = $3, clock = $4 WHERE partner_id = $1`,
		l.PartnerID, l.Licenses, l.Events, l.clock)
}
