package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/diagnose"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// State is the state of a delivery, as people filter by it.
type State string

// The states. Failed covers the three with failures.
const (
	AnyState   State = ""
	Delivered  State = "delivered"
	Waiting    State = "waiting"    // not tried since it was put into the outbox
	Failing    State = "failing"    // tried, and will be retried
	Exhausted  State = "exhausted"  // every attempt failed
	Superseded State = "superseded" // a newer event of the license replaced it
	Failed     State = "failed"     // failing, exhausted or superseded
)

// States lists the states that can be filtered by.
var States = []State{Delivered, Waiting, Failing, Exhausted, Superseded, Failed}

// Known reports whether the state is one of States.
func (s State) Known() bool { return slices.Contains(States, s) }

// Filter selects deliveries of a partner; the zero value selects all.
type Filter struct {
	State     State
	Kind      int // an event.Kind, which this package does not import; 0: any
	Codes     Codes
	From, To  time.Time // time of the event: From included, To excluded; zero: no bound
	EventID   int64     // 0: any
	LicenseID int64     // 0: any
}

// Codes is a range of statuses of the last attempt (0: no answer), or a cause of no answer.
type Codes struct {
	Set       bool
	Low, High int
	Cause     diagnose.Cause // of no answer; "": any
}

// ParseCodes reads a status code (404), a class (4xx), "none" for no answer, or a cause of no
// answer (timeout).
func ParseCodes(s string) (Codes, bool) {
	if s == "none" {
		return Codes{Set: true}, true
	}
	if cause := diagnose.Cause(s); cause.Known() {
		return Codes{Set: true, Cause: cause}, true
	}
	if len(s) != len("404") || s[0] < '1' || s[0] > '5' {
		return Codes{}, false
	}
	if s[1:] == "xx" {
		low := int(s[0]-'0') * 100
		return Codes{Set: true, Low: low, High: low + 99}, true
	}
	n, err := strconv.Atoi(s)
	return Codes{Set: true, Low: n, High: n}, err == nil && n >= 100
}

// String returns the form that ParseCodes reads; "" for any.
func (c Codes) String() string {
	switch {
	case !c.Set:
		return ""
	case c.Cause != "":
		return string(c.Cause)
	case c.High == 0:
		return "none"
	case c.Low != c.High:
		return strconv.Itoa(c.Low/100) + "xx"
	}
	return strconv.Itoa(c.Low)
}

// has reports whether an attempt matches: by its status, or by its cause if it had none.
func (c Codes) has(status int, why string) bool {
	return status >= c.Low && status <= c.High && (c.Cause == "" || diagnose.CauseOf(why) == c.Cause)
}

// failures reports whether an event cannot be delivered if its last attempt had one of the codes.
func (c Codes) failures() bool { return c.Set && (c.High < 200 || c.Low > 299) }

// Key is the position of a row in a list of deliveries: the time of its event, and its id.
type Key struct {
	At      time.Time
	EventID int64
}

// IsZero reports whether the key is empty.
func (k Key) IsZero() bool { return k.EventID == 0 }

// String returns the key for use in a URL; "" for the zero key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return strconv.FormatInt(k.At.UnixNano(), 36) + "-" + strconv.FormatInt(k.EventID, 36)
}

// ParseKey parses the result of Key.String; "" is the zero key.
func ParseKey(s string) (Key, bool) {
	if s == "" {
		return Key{}, true
	}
	at, id, _ := strings.Cut(s, "-")
	ns, err := strconv.ParseInt(at, 36, 64)
	event, err2 := strconv.ParseInt(id, 36, 64)
	if err != nil || err2 != nil || ns <= 0 || event <= 0 {
		return Key{}, false
	}
	return Key{At: time.Unix(0, ns).UTC(), EventID: event}, true
}

// Delivery is an event to be sent to the partner, with its last attempt.
type Delivery struct {
	EventID    int64
	LicenseID  int64
	LicenseKey string
	Kind       int
	State      State
	CreatedAt  time.Time   // of the event
	Attempts   int         // on record
	NextAt     time.Time   // next attempt; zero: none
	Last       LastAttempt // since it was last queued: a waiting delivery has none
}

// Key returns the position of the delivery in the list.
func (d Delivery) Key() Key { return Key{d.CreatedAt, d.EventID} }

// LastAttempt summarizes the last attempt of a delivery.
type LastAttempt struct {
	ID        int64 // 0: none is on record
	Status    int   // 0: no HTTP answer
	Success   bool
	Took      time.Duration
	Cause     string // why there was no answer, in words
	Diagnosis string
	At        time.Time
}

// Words says why the attempt failed; "" if it succeeded.
func (a LastAttempt) Words() string { return words(a.ID, a.Status, a.Success, a.Cause) }

// Words says why the attempt failed; "" if it succeeded.
func (t Try) Words() string { return words(t.ID, t.Status, t.Success, t.Cause) }

func words(id int64, status int, success bool, cause string) string {
	if id == 0 || success {
		return ""
	}
	o := webhook.Outcome{Status: status, Broke: cause}
	return o.Cause()
}

// maxCause is the maximum number of characters of a listed cause.
const maxCause = 300

// List is one page of deliveries, newest first.
type List struct {
	Deliveries []Delivery
	Next       Key // start of the next page; zero: there is none

	// SearchedTo is the time reached by a search that ended before the page was full. Next
	// continues from there.
	SearchedTo time.Time
}

// Of returns the deliveries with their partner.
func (l List) Of(partnerID int64) []OfPartner {
	list := make([]OfPartner, len(l.Deliveries))
	for i, d := range l.Deliveries {
		list[i] = OfPartner{partnerID, d}
	}
	return list
}

// List returns a page of a partner's deliveries, newest first, after a key.
func (r Reader) List(ctx context.Context, partnerID int64, f Filter, after Key, limit int) (List, error) {
	var list List
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		list = List{Deliveries: make([]Delivery, 0, limit+1)}
		w, err := newWalk(ctx, tx, partnerID, f, after)
		if err != nil {
			return err
		}
		chunk := limit + 1
		for len(list.Deliveries) <= limit && !w.ended && w.looked < paging.MaxLooked {
			found, err := w.next(ctx, chunk)
			if err != nil {
				return err
			}
			list.Deliveries = append(list.Deliveries, found...)
			chunk = paging.NextChunk(chunk, w.looked)
		}
		switch {
		case len(list.Deliveries) > limit:
			list.Deliveries = list.Deliveries[:limit]
			list.Next = list.Deliveries[limit-1].Key()
		case !w.ended:
			list.Next = w.at
			list.SearchedTo = w.at.At
		}
		return w.addAttempts(ctx, list.Deliveries)
	})
	if err != nil {
		return List{}, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// countChunk is the number of rows that a count reads at a time.
const countChunk = 1000

// Count returns the number of matching deliveries. more reports that there are others: counting
// stops at most and at the search limit.
func (r Reader) Count(ctx context.Context, partnerID int64, f Filter, most int) (n int, more bool, err error) {
	if f == (Filter{State: Failed, From: f.From, To: f.To}) {
		n, err = countFailed(ctx, r.DB, partnerID, f, most+1)
		return min(n, most), n > most, err
	}
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		n = 0
		more = false
		w, err := newWalk(ctx, tx, partnerID, f, Key{})
		if err != nil {
			return err
		}
		for n <= most && !w.ended && w.looked < max(paging.MaxLooked, most) {
			found, err := w.next(ctx, countChunk)
			if err != nil {
				return err
			}
			n += len(found)
		}
		more = n > most || !w.ended
		n = min(n, most)
		return nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("count deliveries: %w", err)
	}
	return n, more, nil
}

// countFailed counts failed deliveries, up to most, by indexes only.
func countFailed(ctx context.Context, r sqldb.Reader, partnerID int64, f Filter, most int) (int, error) {
	of := func(condition string) string {
		return `(SELECT count(*) FROM (SELECT 1 FROM outbox WHERE partner_id = $1
			AND ` + condition + ` AND created_at >= $2 AND created_at < $3 LIMIT $4) AS o)`
	}
	n, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[int64],
		`SELECT `+of(webhook.IsPending+` AND attempts > 0`)+` + `+of(webhook.IsGivenUp),
		partnerID,
		f.From,
		f.last().At,
		most,
	)
	if err != nil {
		return 0, fmt.Errorf("count failed deliveries: %w", err)
	}
	return int(n), nil
}

// matches reports whether a row matches the filter, without its last attempt.
func (f Filter) matches(d *Delivery) bool {
	switch f.State {
	case AnyState:
	case Failed:
		if d.State != Failing && d.State != Exhausted && d.State != Superseded {
			return false
		}
	case Delivered, Waiting, Failing, Exhausted, Superseded:
		if d.State != f.State {
			return false
		}
	}
	return (f.Kind == 0 || d.Kind == f.Kind) && (f.EventID == 0 || d.EventID == f.EventID) &&
		(f.LicenseID == 0 || d.LicenseID == f.LicenseID) &&
		!d.CreatedAt.Before(f.From) && (f.To.IsZero() || d.CreatedAt.Before(f.To))
}

// last returns the key just after the newest matching delivery.
func (f Filter) last() Key {
	if f.To.IsZero() {
		return Key{time.Unix(0, math.MaxInt64), math.MaxInt64}
	}
	return Key{f.To, 0}
}
