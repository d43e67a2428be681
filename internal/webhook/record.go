package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// state is where the attempt leaves its delivery.
func (r *result) state() state {
	switch {
	case r.ok:
		return delivered
	case r.finished:
		return exhausted
	default:
		return pending
	}
}

// While many requests are in flight, answers wait for one another before they
// are recorded: a transaction for each few costs more than the requests do.
const (
	gatherOver = 16 // requests in flight; fewer may all be of one lane that hangs
	gatherMost = 256
	gatherTime = 5 * time.Millisecond
)

// keepRecords records answers as they come, as many at once as wait, until no
// more come.
func (d *Dispatcher) keepRecords() {
	for {
		d.gather()
		d.mu.Lock()
		n := min(len(d.answers), batchSize)
		batch := d.answers[:n:n]
		d.answers = d.answers[n:]
		closed := d.closed
		d.mu.Unlock()
		switch {
		case n > 0:
			d.persist(batch, false, lockTime)
		case closed:
			d.apart.Wait()
			return
		default:
			<-d.told
		}
	}
}

// gather gives answers the time to become many.
func (d *Dispatcher) gather() {
	d.mu.Lock()
	n, busy := len(d.answers), d.inFlight >= gatherOver
	d.mu.Unlock()
	if busy && n > 0 && n < gatherMost {
		time.Sleep(gatherTime)
	}
}

// persist records a batch, and does not give up while there is hope: an answer
// that is not recorded is a delivery made twice. While the database cannot be
// written, it waits. What somebody else holds, a delivery or how an endpoint
// fares, waits apart from the rest. What cannot be written though the database can is tried in halves,
// down to the one answer that is at fault, which then sheds what may be the
// reason: one must not hold up all others.
func (d *Dispatcher) persist(batch []*result, again bool, limit time.Duration) {
	const doing = "record the answers to webhooks"
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		next, err := d.record(batch, again, limit)
		if err == nil {
			d.note(d.books, doing, nil)
			d.settle(batch)
			d.accept(next...)
			return
		}
		again = true
		if d.books.Err() != nil { // the leases run out, and the events are sent again
			return
		}
		// Too late may mean that something is locked, or that all is slow.
		late := errors.Is(err, context.DeadlineExceeded)
		free, held, broken := d.free(batch)
		switch {
		case sqldb.IsUnavailable(err) && !late || broken != nil:
			d.note(d.books, doing, err)
			d.idle(pause)
		case len(held) > 0:
			d.setApart(held)
			if batch = free; len(free) == 0 {
				return
			}
		case late:
			d.persistEach(batch)
			return
		case len(batch) > 1:
			half := len(batch) / 2
			d.persist(batch[:half], true, limit)
			d.persist(batch[half:], true, limit)
			return
		case !batch[0].shed():
			d.Log.Error("a webhook attempt cannot be recorded; the event will be sent again", "event_id", batch[0].eventID, "error", err)
			d.settle(nil, batch...)
			return
		}
	}
}

// lockTime is how long answers wait for what somebody else holds before those
// that it does not concern are recorded without it.
const lockTime = time.Second

// persistEach records the answers of each partner by themselves; those of a single
// one have to wait.
func (d *Dispatcher) persistEach(batch []*result) {
	partners := map[int64][]*result{}
	for _, r := range batch {
		partners[r.partnerID] = append(partners[r.partnerID], r)
	}
	if len(partners) == 1 {
		d.setApart(batch)
		return
	}
	for _, id := range keys(partners) {
		d.persist(partners[id], true, lockTime)
	}
}

// setApart records answers in their own time, while others are recorded.
func (d *Dispatcher) setApart(batch []*result) {
	d.apart.Go(func() {
		d.idle(lockTime)
		d.persist(batch, true, askTime)
	})
}

// idle waits, or not when no more is recorded.
func (d *Dispatcher) idle(pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-d.books.Done():
	}
}

// free tells the answers whose deliveries can be written from those whose
// deliveries somebody else holds, by a write that changes nothing. An error is
// the database's.
func (d *Dispatcher) free(batch []*result) (free, held []*result, err error) {
	ctx, cancel := context.WithTimeout(d.books, askTime)
	defer cancel()
	var ours []int64
	err = d.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		ours, err = sqldb.All(ctx, tx, sqldb.Value[int64], `UPDATE outbox SET updated_at = updated_at WHERE event_id IN (
			SELECT d.event_id FROM outbox AS d WHERE d.event_id = ANY($1)`+tx.SkipLocked()+`) RETURNING event_id`, events(batch))
		return err
	})
	for _, r := range batch {
		if slices.Contains(ours, r.eventID) {
			free = append(free, r)
		} else {
			held = append(held, r)
		}
	}
	return free, held, err
}

// events is the ids of the events that were answered.
func events(batch []*result) []int64 {
	list := make([]int64, len(batch))
	for i, r := range batch {
		list[i] = r.eventID
	}
	return list
}

// shed drops from an answer that the database does not take first the texts that
// came from outside, then the public record as such: the delivery matters more.
// False means that nothing is left to drop.
func (r *result) shed() bool {
	r.bare++
	if r.bare == 1 {
		r.header, r.answer, r.diagnosis = "", "The answer could not be stored.", ""
	}
	return r.bare <= 2
}

// settle lets go of answers that are on record, or given up, and goes on.
func (d *Dispatcher) settle(recorded []*result, given ...*result) {
	d.mu.Lock()
	for _, r := range slices.Concat(recorded, given) {
		d.letGo(r.item)
		d.unrecorded--
		if r.again { // since the record set it free
			d.returned = append(d.returned, r.eventID)
		}
		if r.again || r.missed {
			d.lane(r.partnerID).after = place{}
			d.wants[r.partnerID] = true
			signal(d.wake)
		}
		if !r.finished {
			d.lane(r.partnerID).passed(r.due)
		}
	}
	d.pump()
	d.mu.Unlock()
	for _, r := range recorded {
		if r.refused && !r.finished && r.attempts+1 >= d.Supersede.Attempts {
			d.reconsider(r.licenseID)
		}
	}
	for _, r := range recorded {
		d.tell(r)
	}
}

// record writes a batch of results in one transaction: each attempt, where it
// leaves its delivery, how the endpoint fares, and what this sets free: the next
// event of each license that is settled is the node's, and returned. The
// transaction of one recorded again may have been committed the time before: where the
// attempt is on record, so is what it did to its delivery.
func (d *Dispatcher) record(batch []*result, again bool, limit time.Duration) ([]*item, error) {
	ctx, cancel := context.WithTimeout(d.books, limit)
	defer cancel()
	now := d.Now()
	var next []*item
	var news *fortunes
	err := d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		fresh := batch
		if again {
			var err error
			if fresh, err = missing(ctx, tx, batch); err != nil {
				return err
			}
		}
		recordAttempts(tx, fresh, now)
		mine, err := ours(ctx, tx, fresh)
		if err != nil {
			return err
		}
		kept, named := parted(mine)
		if err := errors.Join(moveDeliveries(ctx, tx, "", kept, now), moveDeliveries(ctx, tx, d.node, named, now)); err != nil {
			return err
		}
		news = d.fare(tx, fresh, now)
		next, err = d.nextOf(ctx, tx, batch, kept, again, now)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("record %d attempts: %w", len(batch), err)
	}
	d.apply(ctx, news)
	if again {
		kept, _ := parted(batch)
		d.searchAnew(kept)
	}
	return next, nil
}

// nextOf takes on what comes after what is settled: after what bears the node's name by
// that, after what is kept as that is. Of what is recorded again, the next may be the
// node's by name from the time before, in nobody's memory; after what is kept it has to
// be searched for, since it may have been found and settled meanwhile.
func (d *Dispatcher) nextOf(ctx context.Context, tx *sqldb.Tx, batch, kept []*result, again bool, now time.Time) ([]*item, error) {
	_, named := parted(batch)
	licenses := settled(named)
	if again && len(licenses) > 0 {
		d.mu.Lock()
		held := keys(d.held) // among them what is new since then
		d.mu.Unlock()
		tx.Queue(`UPDATE outbox SET node = '', lease_until = 0 WHERE license_id = ANY($1) AND node = $2 AND state = 1 AND NOT (event_id = ANY($3))`,
			licenses, d.node, held)
	}
	next, err := claimNext(ctx, tx, d.node, now, licenses)
	if err != nil || again {
		return next, err
	}
	after, err := keepNext(ctx, tx, d.node, now, kept)
	return append(next, after...), err
}

// parted tells the answers to what is kept from those to what bears the node's name.
func parted(batch []*result) (kept, named []*result) {
	for _, r := range batch {
		if r.kept {
			kept = append(kept, r)
		} else {
			named = append(named, r)
		}
	}
	return kept, named
}

// settled is the licenses whose head came to its end.
func settled(batch []*result) []int64 {
	var licenses []int64
	for _, r := range batch {
		if r.finished {
			licenses = append(licenses, r.licenseID)
		}
	}
	return licenses
}

// missing returns the attempts that are not on record.
func missing(ctx context.Context, tx *sqldb.Tx, batch []*result) ([]*result, error) {
	type attempt struct {
		event int64
		at    int64
	}
	there, err := sqldb.All(ctx, tx, func(r *sqldb.Row, a *attempt) error { return r.Scan(&a.event, &a.at) },
		`SELECT event_id, created_at FROM webhook_responses WHERE event_id = ANY($1)`, events(batch))
	if err != nil {
		return nil, err
	}
	var list []*result
	for _, r := range batch {
		if !slices.Contains(there, attempt{r.eventID, r.at.UnixNano()}) {
			list = append(list, r)
		}
	}
	return list, nil
}

var attemptColumns = []string{
	"event_id", "request_header", "response_status", "response_body", "response_time", "url", "success", "diagnosis", "created_at", "updated_at",
}

// recordAttempts writes the public record of each attempt.
func recordAttempts(tx *sqldb.Tx, batch []*result, now time.Time) {
	rows := make([][]any, 0, len(batch))
	for _, r := range batch {
		if r.bare <= 1 {
			rows = append(rows, []any{r.eventID, r.header, r.status, r.answer, r.took.Milliseconds(), r.url, r.ok, r.diagnosis, r.at, now})
		}
	}
	tx.Insert("webhook_responses", attemptColumns, rows)
}

// moveDeliveries moves each delivery on, unless the node lost its lease and
// another has it now: what the partner took leaves the outbox. One that was called
// back stays open, but is free for that from now on. What waits behind a failed
// event is put off with it, so that the search for due deliveries does not meet it
// before.
func moveDeliveries(ctx context.Context, tx *sqldb.Tx, node string, batch []*result, now time.Time) error {
	var done, failed []int64
	var other []*result
	for _, r := range batch {
		if r.ok {
			done = append(done, r.eventID)
		} else {
			other = append(other, r)
			failed = append(failed, r.eventID)
		}
	}
	moveFailed(tx, node, other, now)
	if len(failed) > 0 {
		tx.Queue(`UPDATE outbox SET due_at = h.due_at FROM outbox AS h
			WHERE h.event_id = ANY($1) AND h.state = 1
				AND outbox.license_id = h.license_id AND outbox.state = 1
				AND outbox.event_id > h.event_id AND outbox.due_at < h.due_at`, failed)
	}
	if len(done) == 0 {
		return nil
	}
	took, err := tx.Exec(ctx, `DELETE FROM outbox WHERE event_id = ANY($1) AND state < 2 AND node = $2`, done, node)
	if err == nil && took < int64(len(done)) {
		tx.Queue(`UPDATE outbox SET node = '', lease_until = 0, updated_at = $2 WHERE event_id = ANY($1) AND state < 2 AND node = '*'`, done, now)
	}
	return err
}

func moveFailed(tx *sqldb.Tx, node string, batch []*result, now time.Time) {
	for _, r := range batch {
		tx.Queue(`UPDATE outbox SET state = CASE WHEN node = $2 THEN $3 ELSE state END, attempts = CASE WHEN node = $2 THEN $4 ELSE attempts END,
				due_at = CASE WHEN node = $2 THEN $5 ELSE due_at END, node = '', lease_until = 0, updated_at = $6
			WHERE event_id = $1 AND state < 2 AND (node = $2 OR node = '*')`, r.eventID, node, int(r.state()), r.attempts+1, r.due, now)
		if r.refused {
			countRefusal(tx, r)
		}
	}
}
