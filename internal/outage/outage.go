// Package outage holds the times when a partner could not be reached: each is
// opened once, its contacts are told, and it is closed. It owns the table
// outages. What a delivery is, and when it failed, is package webhook's.
//
// An outage begins with a failure and ends with the next success; only one that
// lasts is told and kept. One outage is one thread of mails.
package outage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// The times of an outage.
const (
	After = 15 * time.Minute // how long deliveries fail before contacts are told
	Again = 24 * time.Hour   // how long after that they are told again

	// Stale is how long events given up stay news after their outage ended, or was
	// last told of, while the partner has no contacts. Whoever becomes one within
	// that time is told of them; later, the records tell.
	Stale = 7 * 24 * time.Hour
)

// Outage is a time when a partner could not be reached, or when events to it
// were given up.
type Outage struct {
	ID         int64
	PartnerID  int64
	OpenedAt   time.Time // of the first failure
	Cause      string    // what the first failure met
	NotifiedAt time.Time // when contacts were last told that it lasts
	Notices    int       // how often they were
	Exhausted  int64     // events given up
	Superseded int64     // of these: a newer event of the license took their place
	ClosedAt   time.Time // zero: it lasts

	exhaustedNotified   int64     // how many of them contacts were told of
	exhaustedNotifiedAt time.Time // when they were
}

const columns = `id, partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told, exhausted_told_at, closed_at, superseded`

func scan(r *sqldb.Row, o *Outage) error {
	return r.Scan(&o.ID, &o.PartnerID, &o.OpenedAt, &o.Cause, &o.NotifiedAt, &o.Notices, &o.Exhausted, &o.exhaustedNotified, &o.exhaustedNotifiedAt, &o.ClosedAt, &o.Superseded)
}

// Open reports whether the outage lasts.
func (o Outage) Open() bool { return o.ClosedAt.IsZero() }

// Recent returns a partner's n newest outages, newest first. One that is open is
// the first; if it is younger than After, it may yet turn out to be none.
func Recent(ctx context.Context, r sqldb.Reader, partnerID int64, n int) ([]Outage, error) {
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM outages WHERE partner_id = $1 ORDER BY id DESC LIMIT $2`, partnerID, n)
	if err != nil {
		return nil, fmt.Errorf("list outages: %w", err)
	}
	return list, nil
}

// failing reports whether a partner has an open outage.
func failing(ctx context.Context, r sqldb.Reader, partnerID int64) (bool, error) {
	n, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT count(*) FROM outages WHERE partner_id = $1 AND closed_at = 0`, partnerID)
	if err != nil {
		return false, fmt.Errorf("look for an open outage: %w", err)
	}
	return n > 0, nil
}

// Notice is what a batch of attempts says of one partner.
type Notice struct {
	PartnerID int64
	At        time.Time
	Failed    bool // not one of the attempts succeeded
	Exhausted int  // events that were given up

	superseded int    // of these
	Cause      string // of the first failure, in words. It is mailed: no answer's body, nothing of a buyer
}

// Note takes notice of attempts, in the transaction that records them. Of a
// partner that goes on as it did nothing is written, and nothing is read back:
// its one statement travels with the others.
func Note(tx *sqldb.Tx, notices ...Notice) {
	// Nodes lock partners in the same order, and so never wait in a circle.
	if len(notices) > 1 {
		notices = slices.SortedFunc(slices.Values(notices), func(a, b Notice) int { return cmp.Compare(a.PartnerID, b.PartnerID) })
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

// openOutage begins an outage unless there is one. It looks before it inserts, since
// an insert that comes to nothing uses up an id on PostgreSQL, and is a write.
func openOutage(tx *sqldb.Tx, n Notice) {
	tx.Queue(`INSERT INTO outages (partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told, exhausted_told_at, closed_at, settled_at)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS TEXT), 0, 0, 0, 0, 0, 0, 0
		WHERE NOT EXISTS (SELECT 1 FROM outages WHERE partner_id = $1 AND closed_at = 0)
		ON CONFLICT (partner_id) WHERE closed_at = 0 DO NOTHING`, n.PartnerID, n.At, oneLine(n.Cause))
}

// closeOutage ends the outage that there may be. It never ends before it began, whatever
// the clocks of two nodes say.
func closeOutage(tx *sqldb.Tx, n Notice) {
	tx.Queue(`UPDATE outages SET closed_at = CASE WHEN opened_at > $2 THEN opened_at ELSE $2 END
		WHERE partner_id = $1 AND closed_at = 0`, n.PartnerID, n.At)
}

// current are the outages that events given up now may belong to: the open one,
// and one of the last day that tells of nothing but such events, or has yet to.
// While there is nobody to tell, events gather in one for half of Stale: whoever
// becomes a contact gets few mails, and yet learns of each event of that last half.
const current = `partner_id = $1 AND (closed_at = 0 OR tellings = 0 AND exhausted > 0
	AND (closed_at > $3 OR exhausted_told_at > $3 OR exhausted_told < exhausted AND closed_at > $4))`

// exhaust counts events that were given up. During an outage that was told they
// are part of it; otherwise those of a day are gathered in one, so that one event
// after another that a partner will not take makes one mail a day. Where the
// partner is well, that outage begins and ends here.
func exhaust(tx *sqldb.Tx, n Notice) {
	dayAgo, daysAgo := n.At.Add(-Again), n.At.Add(-Stale/2)
	tx.Queue(`UPDATE outages SET exhausted = exhausted + $2, superseded = superseded + $5, settled_at = 0
		WHERE id = (SELECT id FROM outages WHERE `+current+`
			ORDER BY CASE WHEN closed_at = 0 AND tellings > 0 THEN 1 WHEN exhausted > 0 THEN 2 ELSE 3 END, id DESC LIMIT 1)`,
		n.PartnerID, n.Exhausted, dayAgo, daysAgo, n.superseded)
	tx.Queue(`INSERT INTO outages (partner_id, opened_at, cause, told_at, tellings, exhausted, exhausted_told, exhausted_told_at, closed_at, settled_at, superseded)
		SELECT CAST($1 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS TEXT), 0, 0, CAST($2 AS BIGINT), 0, 0, CAST($5 AS BIGINT), 0, CAST($7 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM outages WHERE `+current+`)`, n.PartnerID, n.Exhausted, dayAgo, daysAgo, n.At, oneLine(n.Cause), n.superseded)
}

// Superseded takes notice of events that were refused again and again, and given up
// since newer events of their licenses are sent in their place. It says nothing of
// whether the partner can be reached.
func Superseded(tx *sqldb.Tx, partnerID int64, at time.Time, events int) {
	exhaust(tx, Notice{
		PartnerID: partnerID, At: at, Exhausted: events, superseded: events,
		Cause: "The endpoint refused an event again and again, while it took others.",
	})
}

// oneLine makes one line of what a failure met, of a length that a mail can bear.
func oneLine(cause string) string {
	const most = 300
	cause = strings.ToValidUTF8(cause, "\uFFFD")
	cause = strings.Join(strings.FieldsFunc(cause, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if r := []rune(cause); len(r) > most {
		cause = string(r[:most]) + "…"
	}
	return cause
}

// step is what is to be done about an outage next.
type step int

const (
	wait      step = iota // nothing yet
	discard               // it was over before it was worth telling
	finish                // nothing is left to tell
	opened                // tell that deliveries fail
	still                 // tell that they still do
	exhausted             // tell that events were given up
	recovered             // tell that deliveries get through again
)

// String is the step's name; it is part of the mail's cause.
func (s step) String() string {
	switch s {
	case wait:
		return "wait"
	case discard:
		return "forget"
	case finish:
		return "settle"
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

// next decides what is to be done about an outage. The first events given up are
// told at once; those that follow go with the mail of the day, since every mail
// tells how many there are.
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

// nextOver is next for an outage that is over, when that is no news to anybody.
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

// stale reports whether it is too late for whoever becomes a contact now to be
// told that events were given up.
func (o Outage) stale(now time.Time) bool {
	last := o.ClosedAt
	if o.exhaustedNotifiedAt.After(last) {
		last = o.exhaustedNotifiedAt
	}
	return !o.Open() && !now.Before(last.Add(Stale))
}

// exhaustedDue reports whether it is time to tell that events were given up.
func (o Outage) exhaustedDue(now time.Time) bool {
	return o.Exhausted > o.exhaustedNotified && !now.Before(o.exhaustedNotifiedAt.Add(Again))
}

// after is the outage once the step is done.
func (o Outage) after(s step, now time.Time) Outage {
	switch s {
	case opened, still:
		o.NotifiedAt = now
		o.Notices++
	case wait, discard, finish, exhausted, recovered:
	}
	if o.Exhausted > 0 && s >= opened {
		o.exhaustedNotified, o.exhaustedNotifiedAt = o.Exhausted, now
	}
	return o
}

// Restart queues that an open outage which nobody was told of begins now, as when
// nothing was sent for a while: that time was no outage.
func Restart(tx *sqldb.Tx, partnerID int64, now time.Time) {
	tx.Queue(`UPDATE outages SET opened_at = $2 WHERE partner_id = $1 AND closed_at = 0 AND tellings = 0`, partnerID, now)
}

// Remove queues the removal of a partner's outages.
func Remove(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`DELETE FROM outages WHERE partner_id = $1`, partnerID)
}
