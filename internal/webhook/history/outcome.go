package history

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Outcome is what became of what a job sent.
type Outcome struct {
	Taken   int64 // by the partner, at the first attempt or a later one
	Failed  int64 // attempted, and not taken so far
	Waiting int64 // for the first attempt
}

// maxSends is how many sends by hand, of all partners, are looked at for an outcome.
const maxSends = 10_000

// met is what the attempts of one send met: 2 for a success, 1 for failures alone.
const met = `(SELECT max(CASE WHEN r.success THEN 2 ELSE 1 END) FROM webhook_responses AS r WHERE r.event_id = m.event_id AND r.generation = m.generation)`

// outcome looks at sends in the order of their key, so that its cost has a bound however
// long the job took and whatever else was sent meanwhile. What each met is written down:
// SQLite would look for it anew wherever it is named.
var outcome = `WITH sends AS MATERIALIZED (SELECT generation, event_id, job_id FROM manual_sends WHERE generation >= $1 AND generation <= $2
		ORDER BY generation, event_id LIMIT ` + strconv.Itoa(maxSends) + `),
	s AS MATERIALIZED (SELECT ` + met + ` AS met, m.event_id, m.generation FROM sends AS m WHERE m.job_id = $3)
	SELECT (SELECT count(*) FROM sends), coalesce(sum(CASE WHEN s.met = 2 THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN s.met = 1 THEN 1 ELSE 0 END), 0),
		coalesce(sum(CASE WHEN s.met IS NULL AND EXISTS (
			SELECT 1 FROM outbox AS o WHERE o.event_id = s.event_id AND o.generation = s.generation AND o.` + webhook.IsPending + `) THEN 1 ELSE 0 END), 0) FROM s`

// Outcome reads what became of what a job sent between two times. known is false where
// more was sent by hand in that time than is looked at.
func (r Reader) Outcome(ctx context.Context, jobID int64, from, to time.Time) (o Outcome, known bool, err error) {
	var looked int64
	_, err = sqldb.One(ctx, r.DB, func(row *sqldb.Row, _ *struct{}) error { return row.Scan(&looked, &o.Taken, &o.Failed, &o.Waiting) },
		outcome, from, to, jobID)
	if err != nil {
		return Outcome{}, false, fmt.Errorf("read what became of what a job sent: %w", err)
	}
	return o, looked < maxSends, nil
}
