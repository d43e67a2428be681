// Package outage records when a partner cannot be reached, and notifies its contacts
// by email. It owns the table outages. Package webhook makes the deliveries and
// reports which of them failed.
//
// An outage begins with a failure and ends with the next success. Contacts are
// notified only of one that lasts; a shorter one is deleted. The emails of one outage
// are one thread.
package outage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// The times of an outage.
const (
	After = 15 * time.Minute // deliveries fail for this long before contacts are notified
	Again = 24 * time.Hour   // interval of further notices

	// Stale is how long a new contact is still notified of given-up events, after their outage
	// ended or its last notice.
	Stale = 7 * 24 * time.Hour
)

// Outage is a time when a partner could not be reached, or when events to it
// were given up.
type Outage struct {
	ID         int64
	PartnerID  int64
	OpenedAt   time.Time // of the first failure
	Cause      string    // of the first failure
	NotifiedAt time.Time // last notice that it lasts
	Notices    int       // number of such notices
	Exhausted  int64     // events given up
	Superseded int64     // of these: replaced by a newer event of the license
	ClosedAt   time.Time // zero: it lasts

	exhaustedNotified   int64     // number included in notices
	exhaustedNotifiedAt time.Time // time of that notice
}

const columns = `id, partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told, exhausted_told_at,
	closed_at, superseded`

func scan(r *sqldb.Row, o *Outage) error {
	return r.Scan(
		&o.ID,
		&o.PartnerID,
		&o.OpenedAt,
		&o.Cause,
		&o.NotifiedAt,
		&o.Notices,
		&o.Exhausted,
		&o.exhaustedNotified,
		&o.exhaustedNotifiedAt,
		&o.ClosedAt,
		&o.Superseded,
	)
}

// Open reports whether the outage lasts.
func (o Outage) Open() bool { return o.ClosedAt.IsZero() }

// All returns the outages of all partners, newest first, before an id; 0 means all.
func All(ctx context.Context, r sqldb.Reader, before int64, limit int) ([]Outage, error) {
	list, err := sqldb.All(
		ctx,
		r,
		scan,
		`SELECT `+columns+` FROM outages WHERE id < $1 ORDER BY id DESC LIMIT $2`,
		cmp.Or(before, math.MaxInt64),
		limit,
	)
	if err != nil {
		return nil, fmt.Errorf("list outages: %w", err)
	}
	return list, nil
}

// failing reports whether a partner has an open outage.
func failing(ctx context.Context, r sqldb.Reader, partnerID int64) (bool, error) {
	n, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[int64],
		`SELECT count(*) FROM outages WHERE partner_id = $1 AND closed_at = 0`,
		partnerID,
	)
	if err != nil {
		return false, fmt.Errorf("look for an open outage: %w", err)
	}
	return n > 0, nil
}

// Notice is the result of a batch of attempts for one partner.
type Notice struct {
	PartnerID int64
	At        time.Time
	Failed    bool // not one of the attempts succeeded
	Exhausted int  // events that were given up

	superseded int    // of these
	Cause      string // of the first failure, as a sentence. It is emailed: no response body, nothing about a buyer
}

// Note records the results of attempts, in the transaction that records them. If the state of a
// partner does not change, it writes nothing. It reads nothing: its one statement is queued with
// the others.
func Note(tx *sqldb.Tx, notices ...Notice) {
	// Nodes lock partners in the same order, and so cannot deadlock.
	if len(notices) > 1 {
		notices = slices.SortedFunc(
			slices.Values(notices),
			func(a, b Notice) int { return cmp.Compare(a.PartnerID, b.PartnerID) },
		)
	}
	for _, n := range notices {
		if n.Failed {
			openOutage(tx, n)
		} else {
			closeOutage(tx, n)
		}
		if n.Exhausted > 0 {
			exhaust(tx, n)
		}
	}
}

// openOutage starts an outage unless there is one. It checks before it inserts, because an insert
// without effect still uses up an id on PostgreSQL, and is a write.
func openOutage(tx *sqldb.Tx, n Notice) {
	tx.Queue(
		`INSERT INTO outages (partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told,
			exhausted_told_at, closed_at, settled_at)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS TEXT), 0, 0, 0, 0, 0, 0, 0
		WHERE NOT EXISTS (SELECT 1 FROM outages WHERE partner_id = $1 AND closed_at = 0)
		ON CONFLICT (partner_id) WHERE closed_at = 0 DO NOTHING`,
		n.PartnerID,
		n.At,
		oneLine(n.Cause),
	)
}

// closeOutage ends the open outage, if any. The end is never before the start, even if the clocks
// of two nodes differ.
func closeOutage(tx *sqldb.Tx, n Notice) {
	tx.Queue(`UPDATE outages SET closed_at = CASE WHEN opened_at > $2 THEN opened_at ELSE $2 END
		WHERE partner_id = $1 AND closed_at = 0`, n.PartnerID, n.At)
}

// current selects outages for events that are given up now: the open one, and one of the last day
// that contains only such events, notified or not. While the partner has no contacts, the events of
// half of Stale are collected in one outage: a new contact gets few emails, and yet learns of each
// event of that last half.
const current = `partner_id = $1 AND (closed_at = 0 OR tellings = 0 AND exhausted > 0
	AND (closed_at > $3 OR exhausted_told_at > $3 OR exhausted_told < exhausted AND closed_at > $4))`

// exhaust counts given-up events. They belong to an open outage with a notice. Otherwise the events
// of a day are collected in one outage, so that contacts get one email a day about single events
// that a partner refuses. If the partner is healthy, that outage begins and ends here.
func exhaust(tx *sqldb.Tx, n Notice) {
	dayAgo := n.At.Add(-Again)
	daysAgo := n.At.Add(-Stale / 2)
	tx.Queue(`UPDATE outages SET exhausted = exhausted + $2, superseded = superseded + $5, settled_at = 0
		WHERE id = (SELECT id FROM outages WHERE `+current+`
			ORDER BY CASE WHEN closed_at = 0 AND tellings > 0 THEN 1 WHEN exhausted > 0 THEN 2 ELSE 3 END, id DESC
			LIMIT 1)`,
		n.PartnerID, n.Exhausted, dayAgo, daysAgo, n.superseded)
	tx.Queue(
		`INSERT INTO outages (partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told,
			exhausted_told_at, closed_at, settled_at, superseded)
		SELECT CAST($1 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS TEXT), 0, 0, CAST($2 AS BIGINT), 0, 0,
		CAST($5 AS BIGINT), 0, CAST($7 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM outages WHERE `+current+`)`,
		n.PartnerID,
		n.Exhausted,
		dayAgo,
		daysAgo,
		n.At,
		oneLine(n.Cause),
		n.superseded,
	)
}

// Superseded records events that were refused repeatedly and given up because newer events of their
// licenses are sent instead. It does not change whether the partner counts as reachable.
func Superseded(tx *sqldb.Tx, partnerID int64, at time.Time, events int) {
	exhaust(tx, Notice{
		PartnerID: partnerID, At: at, Exhausted: events, superseded: events,
		Cause: "The endpoint refused an event repeatedly, while it accepted others.",
	})
}

// oneLine shortens the cause of a failure to one line for an email.
func oneLine(cause string) string {
	const most = 300
	cause = strings.ToValidUTF8(cause, "\uFFFD")
	cause = strings.Join(strings.FieldsFunc(cause, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if r := []rune(cause); len(r) > most {
		cause = string(r[:most]) + "…"
	}
	return cause
}

// step is the next action for an outage.
type step int

const (
	wait      step = iota // nothing yet
	discard               // delete it: it ended before any notice
	finish                // mark it as finished: no notice is left to send
	opened                // notify that deliveries fail
	still                 // notify that they still do
	exhausted             // notify that events were given up
	recovered             // notify that deliveries succeed again
)

// String returns the step's name, which is part of the email's cause.
func (s step) String() string {
	switch s {
	case wait:
		return "wait"
	case discard:
		return "discard"
	case finish:
		return "finish"
	case opened:
		return "opened"
	case still:
		return "still"
	case exhausted:
		return "exhausted"
	case recovered:
		return "recovered"
	default:
		return fmt.Sprintf("step(%d)", int(s))
	}
}

// next returns the next step. Contacts are notified of the first given-up events immediately; later
// ones are in the email of the day, because every email has their number.
func (o Outage) next(now time.Time) step {
	switch {
	case !o.Open() && o.Notices > 0:
		return recovered
	case o.Open() && o.Notices == 0 && !now.Before(o.OpenedAt.Add(After)):
		return opened
	case o.Open() && o.Notices > 0 && !now.Before(o.NotifiedAt.Add(Again)):
		return still
	case o.Open():
		return o.nextIdle(now)
	case o.Exhausted == 0 && o.ClosedAt.Sub(o.OpenedAt) < After:
		return discard
	default:
		return o.nextOver(now)
	}
}

// nextIdle is next for an open outage while nothing waits to be delivered.
func (o Outage) nextIdle(now time.Time) step {
	if o.exhaustedDue(now) {
		return exhausted
	}
	return wait
}

// nextOver is next for an outage that ended without a notice of its end.
func (o Outage) nextOver(now time.Time) step {
	switch {
	case o.exhaustedDue(now):
		return exhausted
	case o.Exhausted > o.exhaustedNotified:
		return wait
	default:
		return finish
	}
}

// stale reports whether it is too late to notify a new contact of given-up events.
func (o Outage) stale(now time.Time) bool {
	last := o.ClosedAt
	if o.exhaustedNotifiedAt.After(last) {
		last = o.exhaustedNotifiedAt
	}
	return !o.Open() && !now.Before(last.Add(Stale))
}

// exhaustedDue reports whether a notice of given-up events is due.
func (o Outage) exhaustedDue(now time.Time) bool {
	return o.Exhausted > o.exhaustedNotified && !now.Before(o.exhaustedNotifiedAt.Add(Again))
}

// after returns the outage after the step.
func (o Outage) after(s step, now time.Time) Outage {
	switch s {
	case opened, still:
		o.NotifiedAt = now
		o.Notices++
	case wait, discard, finish, exhausted, recovered:
	}
	if o.Exhausted > 0 && s >= opened {
		o.exhaustedNotified = o.Exhausted
		o.exhaustedNotifiedAt = now
	}
	return o
}

// Restart makes an open outage without a notice begin now, as after a pause: a time in which
// nothing was sent is not an outage.
func Restart(tx *sqldb.Tx, partnerID int64, now time.Time) {
	tx.Queue(
		`UPDATE outages SET opened_at = $2 WHERE partner_id = $1 AND closed_at = 0 AND tellings = 0`,
		partnerID,
		now,
	)
}

// Remove queues the deletion of a partner's outages.
func Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM outages WHERE partner_id = $1`, partnerID)
}
