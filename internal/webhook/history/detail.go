package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Detail is a delivery with its attempts.
type Detail struct {
	Delivery
	Body     string   // as sent
	Tries    []Try    // on record, oldest first
	Manual   Manual   // the manual send, if its attempt is still to come
	Earlier  int64    // the pending event of the license that it waits for; 0: none
	Endpoint Endstate // current state
}

// Endstate is the state of a delivery's endpoint.
type Endstate struct {
	ParkedAt time.Time // zero: not parked
	ProbeAt  time.Time // next probe, if parked
}

// Try is an attempt on record.
type Try struct {
	ID        int64
	Number    int // of those on record, from 1
	At        time.Time
	Status    int // 0: no HTTP answer
	Success   bool
	Took      time.Duration
	Cause     string // why there was no answer, in words
	Diagnosis string
	Manual    Manual
}

// Manual describes a manual send; the zero value means that the schedule sent it.
type Manual struct {
	By          audit.Actor // without a name
	JobID       int64       // the job that sent it; 0: none
	ScheduledAt time.Time   // the next scheduled attempt it replaced; zero: there was none
}

// IsZero reports whether the send was not manual.
func (m Manual) IsZero() bool { return m.By.Kind == "" }

// Exchange is one attempt with the complete request and response.
type Exchange struct {
	Try
	URL            string
	RequestHeader  string
	ResponseBody   string
	Timing         courier.Timing
	Measured       bool // Timing is known; attempts of earlier versions have none
	PreviousID     int64
	NextID         int64
	GenerationTime time.Time // when it was requested, if Manual is set
}

// tryColumns selects an attempt. The first attempt of a generation is the one requested manually.
const tryColumns = `r.id, r.created_at, r.response_status, r.success, r.response_time,
	CASE WHEN r.response_status = 0 THEN substr(r.response_body, 1, 300) ELSE '' END, r.diagnosis,
	coalesce(m.actor_kind, ''), coalesce(m.actor_id, 0), coalesce(m.job_id, 0), coalesce(m.scheduled_at, 0)`

const manualOf = ` LEFT JOIN manual_sends AS m ON m.generation = r.generation AND m.event_id = r.event_id
	AND r.generation <> 0
	AND r.id = (SELECT min(f.id) FROM webhook_responses AS f WHERE f.event_id = r.event_id
	AND f.generation = r.generation)`

func (t *Try) targets(ms *int64) []any {
	return []any{
		&t.ID, &t.At, &t.Status, &t.Success, ms, &t.Cause, &t.Diagnosis, &t.Manual.By.Kind, &t.Manual.By.ID,
		&t.Manual.JobID, &t.Manual.ScheduledAt,
	}
}

func (t *Try) finish(ms int64) {
	t.Took, t.Cause = time.Duration(ms)*time.Millisecond, courier.Clean(t.Cause, maxCause)
}

// eventTry is an attempt of an event.
type eventTry struct {
	eventID int64
	Try
}

func scanTry(r *sqldb.Row, v *eventTry) error {
	var ms int64
	err := r.Scan(append([]any{&v.eventID}, v.targets(&ms)...)...)
	v.finish(ms)
	return err
}

// TriesOf returns the newest attempts of each event, at most webhook.MaxAttempts, oldest first.
func TriesOf(ctx context.Context, tx *sqldb.Tx, eventIDs []int64) (map[int64][]Try, error) {
	list, err := sqldb.All(ctx, tx, scanTry, `SELECT r.event_id, `+tryColumns+` FROM webhook_responses AS r`+manualOf+`
		WHERE r.event_id = ANY($1) ORDER BY r.event_id, r.id DESC
		LIMIT $2`, eventIDs, webhook.MaxAttempts*len(eventIDs))
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	found := map[int64][]Try{}
	for _, v := range list {
		if len(found[v.eventID]) < webhook.MaxAttempts {
			found[v.eventID] = append(found[v.eventID], v.Try)
		}
	}
	for _, tries := range found {
		slices.Reverse(tries)
		for i := range tries {
			tries[i].Number = i + 1
		}
	}
	return found, nil
}

// Delivery returns a delivery of a partner with its attempts. Another partner's event is unknown.
func (r Reader) Delivery(ctx context.Context, partnerID, eventID int64) (Detail, error) {
	var d Detail
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		d, err = detail(ctx, tx, partnerID, eventID)
		return err
	})
	return d, err
}

func detail(ctx context.Context, tx *sqldb.Tx, partnerID, eventID int64) (d Detail, err error) {
	if eventID <= 0 {
		return d, webhook.UnknownEvent(eventID)
	}
	w, err := newWalk(ctx, tx, partnerID, Filter{EventID: eventID}, Key{})
	if err != nil {
		return d, err
	}
	found, err := w.next(ctx, 1)
	switch {
	case err != nil:
		return d, err
	case len(found) == 0:
		return d, webhook.UnknownEvent(eventID)
	}
	if err := w.addAttempts(ctx, found); err != nil {
		return d, err
	}
	d.Delivery = found[0]
	tries, err := TriesOf(ctx, tx, []int64{eventID})
	if err != nil {
		return d, err
	}
	d.Tries = tries[eventID]
	err = d.addState(ctx, tx, partnerID)
	return d, err
}

// addState adds the things that the delivery waits for.
func (d *Detail) addState(ctx context.Context, tx *sqldb.Tx, partnerID int64) error {
	type state struct {
		body              string
		manual            Manual
		earlier           int64
		parkedAt, probeAt time.Time
	}
	s, err := sqldb.One(ctx, tx, func(r *sqldb.Row, s *state) error {
		return r.Scan(
			&s.body,
			&s.manual.By.Kind,
			&s.manual.By.ID,
			&s.manual.JobID,
			&s.manual.ScheduledAt,
			&s.earlier,
			&s.parkedAt,
			&s.probeAt,
		)
	}, `SELECT d.body, coalesce(m.actor_kind, ''), coalesce(m.actor_id, 0), coalesce(m.job_id, 0),
		coalesce(m.scheduled_at, 0),
			coalesce((SELECT min(e.event_id) FROM outbox AS e WHERE e.license_id = d.license_id
			AND e.`+webhook.IsPending+` AND e.event_id < d.event_id), 0),
			coalesce(p.parked_at, 0), coalesce(p.probe_at, 0)
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id AND o.`+webhook.IsPending+`
		LEFT JOIN manual_sends AS m ON m.event_id = o.event_id AND m.generation = o.generation
			AND NOT EXISTS (SELECT 1 FROM webhook_responses AS r WHERE r.event_id = o.event_id
			AND r.generation = o.generation)
		LEFT JOIN endpoints AS p ON p.partner_id = $2
		WHERE d.event_id = $1`, d.EventID, partnerID)
	if err != nil {
		return fmt.Errorf("read what the delivery waits for: %w", err)
	}
	d.Body = s.body
	d.Manual = s.manual
	d.Endpoint = Endstate{s.parkedAt, s.probeAt}
	if !d.NextAt.IsZero() {
		d.Earlier = s.earlier
	}
	return nil
}

func scanExchange(r *sqldb.Row, v *Exchange) error {
	var ms, dns, connect, tls, first int64
	var asked time.Time
	err := r.Scan(
		append(v.targets(&ms), &v.URL, &v.RequestHeader, &v.ResponseBody, &dns, &connect, &tls, &first, &asked)...)
	v.finish(ms)
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	v.Timing = courier.Timing{
		DNS:       us(dns),
		Connect:   us(connect),
		TLS:       us(tls),
		FirstByte: us(first),
		Reused:    connect == 0 && first > 0,
	}
	v.Measured = v.Timing != courier.Timing{}
	v.ResponseBody = courier.Clean(v.ResponseBody, courier.MaxBody)
	if !v.Manual.IsZero() {
		v.GenerationTime = asked
	}
	return err
}

// Exchange returns a delivery of a partner and one of its attempts with request and response; id 0
// selects the last attempt. An attempt of another delivery is unknown. For a delivery without
// attempts it returns a zero Exchange and no fault.
func (r Reader) Exchange(ctx context.Context, partnerID, eventID, id int64) (Detail, Exchange, error) {
	var d Detail
	var e Exchange
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		if d, err = detail(ctx, tx, partnerID, eventID); err != nil {
			return err
		}
		i := len(d.Tries) - 1
		if id != 0 {
			i = slices.IndexFunc(d.Tries, func(t Try) bool { return t.ID == id })
		}
		switch {
		case i < 0 && id != 0:
			return fault.New(
				fault.Missing,
				codeUnknownAttempt,
				"Event %d has no attempt %d on record; its delivery lists them.",
				eventID,
				id,
			)
		case i < 0:
			return nil
		}
		e, err = sqldb.One(
			ctx,
			tx,
			scanExchange,
			`SELECT `+tryColumns+`, r.url, r.request_header, r.response_body, r.dns_us, r.connect_us, r.tls_us,
				r.first_byte_us, r.generation
			FROM webhook_responses AS r`+manualOf+` WHERE r.id = $1 AND r.event_id = $2`,
			d.Tries[i].ID,
			eventID,
		)
		if errors.Is(err, sqldb.ErrNone) {
			return fmt.Errorf("attempt %d is no longer on record: %w", id, err)
		}
		e.Number = d.Tries[i].Number
		if i > 0 {
			e.PreviousID = d.Tries[i-1].ID
		}
		if i+1 < len(d.Tries) {
			e.NextID = d.Tries[i+1].ID
		}
		return err
	})
	return d, e, err
}

// Tries returns the newest attempts of each event, oldest first. The caller must check the events'
// partner.
func (r Reader) Tries(ctx context.Context, eventIDs []int64) (found map[int64][]Try, err error) {
	if len(eventIDs) == 0 {
		return nil, nil
	}
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		found, err = TriesOf(ctx, tx, eventIDs)
		return err
	})
	return found, err
}
