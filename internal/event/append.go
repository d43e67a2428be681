package event

import (
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Draft is an event to append. The caller holds the lock of the partner's counters, which provides
// the ordinal.
type Draft struct {
	Event
	Ord      int64
	Was      Status // of the license before; 0 for a new one
	PlanName string // of the tier's plan, for the webhook; "" if the tier is no longer sold
}

// NextIDs allocates n event ids.
func NextIDs(tx *sqldb.Tx, n int) *sqldb.Result[int64] {
	return sqldb.NextOrderedIDs(tx, "event_ids", n)
}

// Append queues events of one partner and their deliveries. If a license's status changed, it also
// moves the license's earlier events to that status. The ids must come from NextIDs, under the
// partner's lock: Feed relies on that.
func (l *Log) Append(tx *sqldb.Tx, drafts ...Draft) {
	l.outbox().Enqueue(tx, appendRows(tx, drafts)...)
}

// AppendUndelivered does the same as Append, without webhooks.
func (l *Log) AppendUndelivered(tx *sqldb.Tx, drafts ...Draft) { appendRows(tx, drafts) }

// appendRows queues events and returns their notices for partners.
func appendRows(tx *sqldb.Tx, drafts []Draft) []webhook.Notice {
	rows := make([][]any, len(drafts))
	notices := make([]webhook.Notice, len(drafts))
	blocks := map[block]int64{}
	for i, d := range drafts {
		now := d.Kind.Status()
		if d.Was != 0 && d.Was != now {
			updateStatus(tx, d.LicenseID, d.Was, now)
		}
		rows[i] = []any{
			d.ID, d.PartnerID, d.Ord, d.LicenseID, d.LicenseKey, int(d.Kind), d.Tier, d.PreviousTier, string(d.Reason),
			d.At.UnixMilli(), int(now), d.CreatedAt,
		}
		blocks[block{d.PartnerID, now, paging.BlockOf(d.Ord)}]++
		notices[i] = webhook.Notice{
			EventID: d.ID, PartnerID: d.PartnerID, LicenseID: d.LicenseID, LicenseKey: d.LicenseKey, Kind: int(d.Kind),
			Event: d.Kind.String(), Status: now.String(), Tier: d.Tier, PreviousTier: d.PreviousTier,
			Reason: string(d.Reason), Sentence: d.sentence(), PlanName: d.PlanName, At: d.At,
			CreatedAt: d.CreatedAt, First: d.Was == 0,
		}
	}
	tx.Insert("events", []string{
		"id", "partner_id", "ord", "license_id", "license_key", "kind", "tier", "previous_tier", "reason",
		"event_ms", "status", "created_at",
	}, rows)
	for b, n := range blocks {
		tx.Queue(`INSERT INTO event_blocks (partner_id, status, block, n) VALUES ($1, $2, $3, $4)
			ON CONFLICT (partner_id, status, block) DO UPDATE SET n = event_blocks.n + excluded.n`, b.partnerID,
			int(b.status), b.number, n)
	}
	return notices
}

// sentence returns the reason of the event as a sentence.
func (d Draft) sentence() string {
	if d.Was == 0 && d.Reason == Operator {
		return ImportedSentence
	}
	return d.Reason.Sentence()
}

// block identifies a counter of events with a status.
type block struct {
	partnerID int64
	status    Status
	number    int64
}

// outbox returns the outbox for deliveries; a nil Log has none.
func (l *Log) outbox() *webhook.Outbox {
	if l == nil {
		return nil
	}
	return l.Outbox
}

// updateStatus moves a license's events to its new status, so that a list by status finds them by
// index: first the counts of their blocks, then the rows.
func updateStatus(tx *sqldb.Tx, licenseID int64, was, now Status) {
	const move = `INSERT INTO event_blocks (partner_id, status, block, n)
		SELECT partner_id, CAST($2 AS bigint), (ord - 1) / $4, CAST($3 AS bigint) * count(*) FROM events
		WHERE license_id = $1 GROUP BY partner_id, (ord - 1) / $4
		ON CONFLICT (partner_id, status, block) DO UPDATE SET n = event_blocks.n + excluded.n`
	tx.Queue(move, licenseID, int(was), -1, paging.BlockSize)
	tx.Queue(move, licenseID, int(now), 1, paging.BlockSize)
	tx.Queue(`UPDATE events SET status = $2 WHERE license_id = $1`, licenseID, int(now))
}

// Millis truncates a time to the precision of event timestamps.
func Millis(t time.Time) time.Time { return t.Truncate(time.Millisecond) }
