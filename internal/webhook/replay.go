package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Replay is a redelivery of a partner's events of a span of time. It is worked off
// in batches, each one transaction that also moves its cursor, so that it goes on
// where it was whenever a process ends.
type Replay struct {
	ID         int64
	PartnerID  int64
	From, To   time.Time
	OnlyFailed bool
	Count      int64 // deliveries made due so far
	CreatedAt  time.Time
	FinishedAt time.Time // zero: it is running

	at      time.Time // events up to this one, by time and id, are done
	eventID int64
}

// Running reports whether there is more to do.
func (r Replay) Running() bool { return r.FinishedAt.IsZero() }

// replayBatch is how many events one transaction looks at. The partner's sales wait
// for it meanwhile.
const replayBatch = 250

const replayColumns = `id, partner_id, from_at, to_at, only_failed, count, created_at, finished_at, at, event_id`

func scanReplay(r *sqldb.Row, v *Replay) error {
	return r.Scan(&v.ID, &v.PartnerID, &v.From, &v.To, &v.OnlyFailed, &v.Count, &v.CreatedAt, &v.FinishedAt, &v.at, &v.eventID)
}

// RedeliverRange begins to make the partner's events of a time range due again,
// oldest first as ever, and after them the newest of each of their licenses;
// onlyFailed leaves out what was delivered. What is open stays as it is. A parked
// endpoint is probed. The first batch is done at once, the others by Replayer. A
// partner has one at a time.
func (o *Outbox) RedeliverRange(ctx context.Context, by audit.Actor, partnerID int64, from, to time.Time, onlyFailed bool) (Replay, error) {
	var r Replay
	err := o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := o.Now()
		partner.Lock(tx, partnerID)
		running, err := sqldb.One(ctx, tx, scanReplay, `SELECT `+replayColumns+` FROM replays WHERE partner_id = $1 AND finished_at = 0`, partnerID)
		switch {
		case err == nil:
			return errRunning(running)
		case !errors.Is(err, sqldb.ErrNone):
			return fmt.Errorf("look for a running redelivery: %w", err)
		}
		r = Replay{PartnerID: partnerID, From: from, To: to, OnlyFailed: onlyFailed, CreatedAt: now}
		r.ID, err = sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO replays (partner_id, from_at, to_at, only_failed, at, event_id, count, created_at, updated_at, finished_at)
			VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $5, 0) RETURNING id`, partnerID, from, to, onlyFailed, now)
		if err != nil {
			return fmt.Errorf("write the redelivery: %w", err)
		}
		if err := o.replay(ctx, tx, now, &r); err != nil {
			return err
		}
		audit.Record(tx, now, by, "partner.redeliver", fmt.Sprintf("partner:%d", partnerID), nil, map[string]any{
			"redelivery_id": r.ID, "from": from, "to": to, "only_failed": onlyFailed,
		})
		return nil
	})
	return r, err
}

func errRunning(r Replay) error {
	return fault.New(fault.Conflict, codeRedeliveryRunning,
		"A redelivery of this partner's events, from %s, is running; %d events are queued so far. Wait until it is done: GET the same path shows how far it is.",
		r.From.Format(time.RFC3339), r.Count)
}

// LastReplay returns the newest redelivery of a partner's events.
func (o *Outbox) LastReplay(ctx context.Context, partnerID int64) (Replay, error) {
	r, err := sqldb.One(ctx, o.DB, scanReplay, `SELECT `+replayColumns+` FROM replays WHERE partner_id = $1 ORDER BY id DESC LIMIT 1`, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return r, fault.New(fault.Missing, codeUnknownRedelivery, "No span of this partner's events was redelivered yet.")
	case err != nil:
		return r, fmt.Errorf("read a redelivery: %w", err)
	}
	return r, nil
}

// replay does the next batch of a redelivery, under the partner's lock.
func (o *Outbox) replay(ctx context.Context, tx *sqldb.Tx, now time.Time, r *Replay) error {
	source := `deliveries AS d WHERE d.partner_id = $1`
	if r.OnlyFailed {
		source = `outbox AS d WHERE d.partner_id = $1 AND d.` + isGivenUp
	}
	type entry struct {
		id int64
		at time.Time
	}
	list, err := sqldb.All(ctx, tx, func(row *sqldb.Row, e *entry) error { return row.Scan(&e.id, &e.at) },
		`SELECT d.event_id, d.created_at FROM `+source+` AND d.created_at >= $2 AND d.created_at < $3
			AND (d.created_at, d.event_id) > ($4, $5) ORDER BY d.created_at, d.event_id LIMIT `+strconv.Itoa(replayBatch),
		r.PartnerID, r.From, r.To, r.at, r.eventID)
	if err != nil {
		return fmt.Errorf("look for events to redeliver: %w", err)
	}
	ids := make([]int64, len(list))
	for i, e := range list {
		ids[i] = e.id
		r.at, r.eventID = e.at, e.id
	}
	o.touch(tx, r.PartnerID, `, probe_at = CASE WHEN parked_at <> 0 THEN $2 ELSE probe_at END`, now)
	if err := o.reopenAll(ctx, tx, now, r, ids); err != nil {
		return err
	}
	if len(list) < replayBatch {
		r.FinishedAt = now
	}
	tx.Queue(`UPDATE replays SET at = $2, event_id = $3, count = $4, updated_at = $5, finished_at = $6 WHERE id = $1`,
		r.ID, r.at, r.eventID, r.Count, now, r.FinishedAt)
	return nil
}

// reopenAll makes events due that are not open, and after them the newest of their
// licenses.
func (o *Outbox) reopenAll(ctx context.Context, tx *sqldb.Tx, now time.Time, r *Replay, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	licenses, err := sqldb.All(ctx, tx, sqldb.Value[int64], reopen+`d.event_id = ANY($2)`+reopened+` WHERE NOT outbox.`+isPending+`
		RETURNING license_id`, now, ids)
	if err != nil {
		return fmt.Errorf("redeliver events: %w", err)
	}
	r.Count += int64(len(licenses))
	if len(licenses) == 0 {
		return nil
	}
	after, err := tx.Exec(ctx, reopen+`d.event_id IN (
			SELECT max(newest.event_id) FROM deliveries AS newest WHERE newest.license_id = ANY($2) GROUP BY newest.license_id)
		AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_id = d.event_id AND o.`+isPending+` AND o.updated_at = $1)`+
		reopened, now, licenses)
	if err != nil {
		return fmt.Errorf("redeliver the newest events of licenses: %w", err)
	}
	r.Count += after
	tx.Queue(markRedelivered, licenses)
	return nil
}

// markRedelivered has the pruning look at the attempts of what is open of licenses.
var markRedelivered = `INSERT INTO redelivered (event_id) SELECT event_id FROM outbox WHERE license_id = ANY($1) AND ` + isPending + `
	ON CONFLICT (event_id) DO NOTHING`

// Replayer works off redeliveries. It runs on every node; one node at a time has a
// redelivery in hand.
type Replayer struct {
	Outbox *Outbox
	Every  time.Duration // how often to look for new ones; 0: a second
	Log    *slog.Logger
}

// Run works until ctx ends.
func (p *Replayer) Run(ctx context.Context) {
	every := p.Every
	if every == 0 {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failed := false
	for {
		more, err := p.Once(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			p.Log.Error("a redelivery failed; it is tried again", "err", err)
		}
		if failed = err != nil; more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Once does the next batch of the redelivery that waited longest, and reports
// whether there was one.
func (p *Replayer) Once(ctx context.Context) (bool, error) {
	o := p.Outbox
	next, err := sqldb.One(ctx, o.DB, scanReplay, `SELECT `+replayColumns+` FROM replays WHERE finished_at = 0 ORDER BY updated_at, id LIMIT 1`)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for redeliveries: %w", err)
	}
	worked := false
	err = o.DB.Write(ctx, func(tx *sqldb.Tx) error {
		worked = false
		ours := tx.TryLock("replay:" + strconv.FormatInt(next.PartnerID, 10))
		if ok, err := ours.One(ctx); err != nil || !ok {
			return err
		}
		partner.Lock(tx, next.PartnerID)
		// It may have gone on since it was found.
		r, err := sqldb.One(ctx, tx, scanReplay, `SELECT `+replayColumns+` FROM replays WHERE id = $1 AND finished_at = 0`, next.ID)
		switch {
		case errors.Is(err, sqldb.ErrNone):
			return nil
		case err != nil:
			return err
		}
		worked = true
		return o.replay(ctx, tx, o.Now(), &r)
	})
	if err != nil {
		return false, fmt.Errorf("go on with redelivery %d: %w", next.ID, err)
	}
	return worked, nil
}
