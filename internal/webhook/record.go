package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
		err := d.record(batch, again, limit)
		if err == nil {
			d.note(d.books, doing, nil)
			d.settle(batch)
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
		case sqldb.IsAway(err) && !late || broken != nil:
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
		args := ids(events(batch))
		ours, err = sqldb.All(ctx, tx, sqldb.Value[int64], `UPDATE outbox SET updated_at = updated_at WHERE event_id IN (
			SELECT d.event_id FROM outbox AS d WHERE d.event_id IN (`+marks(1, len(args))+`)`+tx.SkipLocked()+`) RETURNING event_id`, args...)
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
		r.header, r.answer = "", "The answer could not be stored."
	}
	return r.bare <= 2
}

// settle lets go of answers that are on record, or given up, and goes on.
func (d *Dispatcher) settle(recorded []*result, given ...*result) {
	d.mu.Lock()
	for _, r := range slices.Concat(recorded, given) {
		delete(d.held, r.eventID)
		d.unrecorded--
	}
	d.pump()
	d.mu.Unlock()
	for _, r := range recorded {
		d.tell(r)
	}
}

// record writes a batch of results in one transaction: each attempt, where it
// leaves its delivery, how the endpoint fares, and what this sets free: the next
// event of each license that is settled is leased to the node and taken on. The
// transaction of one recorded again may have been committed the time before.
func (d *Dispatcher) record(batch []*result, again bool, limit time.Duration) error {
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
		if err := moveDeliveries(ctx, tx, d.node, batch, now); err != nil {
			return err
		}
		news = d.fare(tx, fresh, now)
		next = nil
		if licenses := settled(batch); len(licenses) > 0 {
			var err error
			next, err = claimNext(ctx, tx, d.node, now, licenses)
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record %d attempts: %w", len(batch), err)
	}
	d.apply(ctx, news)
	d.accept(next...)
	return nil
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
	args := ids(events(batch))
	there, err := sqldb.All(ctx, tx, func(r *sqldb.Row, a *attempt) error { return r.Scan(&a.event, &a.at) },
		`SELECT event_id, created_at FROM webhook_responses WHERE event_id IN (`+marks(1, len(args))+`)`, args...)
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

// rows cuts a batch into runs of a few lengths, so that few statements are
// prepared, and calls f with each.
func rows(batch []*result, f func([]*result)) {
	for len(batch) > 0 {
		n := 1
		for n*2 <= len(batch) && n < batchSize {
			n *= 2
		}
		f(batch[:n])
		batch = batch[n:]
	}
}

// recordAttempts writes the public record of each attempt.
func recordAttempts(tx *sqldb.Tx, batch []*result, now time.Time) {
	const columns = 10
	batch = slices.DeleteFunc(slices.Clone(batch), func(r *result) bool { return r.bare > 1 })
	rows(batch, func(run []*result) {
		args, values := make([]any, 0, columns*len(run)), make([]string, len(run))
		for i, r := range run {
			values[i] = "(" + marks(columns*i+1, columns) + ")"
			args = append(args, r.eventID, r.licenseID, r.header, r.status, r.answer, r.took.Milliseconds(), r.url, r.ok, r.at, now)
		}
		tx.Queue(`INSERT INTO webhook_responses (event_id, license_id, request_header, response_status, response_body, response_time,
			url, success, created_at, updated_at) VALUES `+strings.Join(values, ", "), args...)
	})
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
		args := ids(failed)
		tx.Queue(`UPDATE outbox SET due_at = h.due_at FROM outbox AS h
			WHERE h.event_id IN (`+marks(1, len(args))+`) AND h.state = 1
				AND outbox.license_id = h.license_id AND outbox.state = 1
				AND outbox.event_id > h.event_id AND outbox.due_at < h.due_at`, args...)
	}
	if len(done) == 0 {
		return nil
	}
	args := append(ids(done), node)
	n := len(args)
	took, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM outbox WHERE event_id IN (%s) AND state < 2 AND node = $%d`, marks(1, n-1), n), args...)
	if err == nil && took < int64(len(done)) {
		args[n-1] = now
		tx.Queue(fmt.Sprintf(`UPDATE outbox SET lease_until = 0, updated_at = $%d
			WHERE event_id IN (%s) AND state < 2 AND node = ''`, n, marks(1, n-1)), args...)
	}
	return err
}

func moveFailed(tx *sqldb.Tx, node string, batch []*result, now time.Time) {
	const columns = 4
	rows(batch, func(run []*result) {
		args := []any{node, now}
		for _, r := range run {
			args = append(args, r.eventID, int(r.state()), r.attempts+1, r.due)
		}
		tx.Queue(`UPDATE outbox SET state = CASE WHEN node = $1 THEN v.column2 ELSE state END,
				attempts = CASE WHEN node = $1 THEN v.column3 ELSE attempts END,
				due_at = CASE WHEN node = $1 THEN v.column4 ELSE due_at END, node = '', lease_until = 0, updated_at = $2
			FROM (VALUES `+tuples(3, len(run), columns)+`) AS v
			WHERE event_id = v.column1 AND state < 2 AND (node = $1 OR node = '')`, args...)
	})
}
