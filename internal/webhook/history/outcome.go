package history

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Outcome counts the results of a job's sends.
type Outcome struct {
	Taken   int64 // accepted by the partner, at the first attempt or a later one
	Failed  int64 // attempted, not accepted so far
	Waiting int64 // for the first attempt
}

// maxSends is the number of manual sends, of all partners, examined for an outcome.
const maxSends = 10_000

// met selects the result of one send: 2 for a success, 1 for failures only.
const met = `(SELECT max(CASE WHEN r.success THEN 2 ELSE 1 END) FROM webhook_responses AS r
	WHERE r.event_id = m.event_id AND r.generation = m.generation)`

// outcome reads sends in the order of their key, so its cost is bounded however long the job took
// and however much else was sent. s is materialized: SQLite would evaluate met again at each
// reference.
var outcome = `WITH sends AS MATERIALIZED (SELECT generation, event_id, job_id FROM manual_sends WHERE generation >= $1
	AND generation <= $2
		ORDER BY generation, event_id LIMIT ` + strconv.Itoa(
	maxSends,
) + `),
	s AS MATERIALIZED (SELECT ` + met + ` AS met, m.event_id, m.generation FROM sends AS m WHERE m.job_id = $3)
	SELECT (SELECT count(*) FROM sends), coalesce(sum(CASE WHEN s.met = 2 THEN 1 ELSE 0 END), 0), coalesce(sum(CASE
	WHEN s.met = 1 THEN 1 ELSE 0 END), 0),
		coalesce(sum(CASE WHEN s.met IS NULL AND EXISTS (
			SELECT 1 FROM outbox AS o WHERE o.event_id = s.event_id AND o.generation = s.generation
			AND o.` + webhook.IsPending + `) THEN 1 ELSE 0 END), 0) FROM s`

// Outcome returns the results of a job's sends between two times. known is false if there were more
// manual sends in that time than are examined.
func (r Reader) Outcome(ctx context.Context, jobID int64, from, to time.Time) (o Outcome, known bool, err error) {
	var looked int64
	_, err = sqldb.One(
		ctx,
		r.DB,
		func(row *sqldb.Row, _ *struct{}) error { return row.Scan(&looked, &o.Taken, &o.Failed, &o.Waiting) },
		outcome,
		from,
		to,
		jobID,
	)
	if err != nil {
		return Outcome{}, false, fmt.Errorf("read what became of what a job sent: %w", err)
	}
	return o, looked < maxSends, nil
}
