// Package requestlog stores which calls of a partner were refused in the last seven days
// and why, so that its developers need not guess, and counts those that were answered. It
// owns the tables refused_counters, refused_calls, refused_groups and request_counts.
//
// A request only adds to a bounded queue in memory: it never waits and never fails for
// the log. A writer stores in batches what is there; what does not fit is counted as
// dropped. A process that is killed loses what it had not written yet, a second's worth.
//
// A partner has MaxEntries at most. Calls that were authenticated have one each, and a
// new one takes the place of the oldest. Client ids are public, so anybody can make calls
// that name a partner: those are grouped, one entry for all that were refused in the same
// way on a day, and have at most a tenth of the entries. Calls beyond a rate limit are
// grouped too.
//
// No entry has a query, a header or a body, and what looks like a secret in a path or a
// message is replaced.
package requestlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// MaxEntries is how many entries a partner has at most: MaxGroups of them are groups.
const (
	MaxEntries = 2000
	MaxGroups  = MaxEntries / 10
	slots      = MaxEntries - MaxGroups
)

// Kept is for how long an entry is shown, and countsKept for how long the hourly counts are.
const (
	Kept       = 7 * 24 * time.Hour
	countsKept = 90 * 24 * time.Hour
)

// The bounds of what waits in memory to be written, for all partners and for one, so that
// one partner's flood leaves the others their share. It is written once a second.
const (
	maxWaitingCalls  = 2048
	maxPartnerCalls  = 256
	maxWaitingGroups = 1024
	maxPartnerGroups = 64
)

// Call is a refused call.
type Call struct {
	PartnerID int64
	Proven    bool // the partner's credentials were right; otherwise somebody named the partner
	Limited   bool // it was one too many
	At        time.Time
	Method    string
	Path      string // without the query
	Route     string // the pattern that the path matched; "": none
	Status    int
	Code      string
	Cause     string // which of several the code stands for; ""
	Message   string
	RequestID string
	License   string // the key of the license that it named; ""
	LicenseID int64  // or the number of that license; 0
}

// Entry is one refused call, or several that are grouped.
type Entry struct {
	Seq       int64 // unique for the partner
	At        time.Time
	FirstAt   time.Time // of a group; of a single call it is At
	Count     int64     // 1 for a single call
	Grouped   bool
	Proven    bool // the partner's credentials were right
	Method    string
	Path      string // of a group: the pattern
	Status    int
	Code      string
	Cause     string
	Message   string
	RequestID string // of a group: of the last call
	License   string // likewise
}

// Log stores refused calls. DB and Now must be set.
type Log struct {
	DB  *sqldb.DB
	Now func() time.Time

	// Keys returns the keys of licenses by their numbers. Nil: they are not looked up.
	Keys func(ctx context.Context, ids []int64) (map[int64]string, error)

	Metrics *Metrics     // nil: nothing is measured
	Logger  *slog.Logger // nil: nothing is logged

	flushing sync.Mutex
	writing  *batch // taken and not written yet; guarded by flushing

	mu      sync.Mutex
	pending *batch // guarded by mu
}

// batch is what waits to be written.
type batch struct {
	calls   map[int64][]Call // by partner
	groups  map[int64]map[groupKey]*group
	counts  map[countKey]*count
	nCalls  int
	nGroups int
}

// groupKey is what the calls of a group have in common.
type groupKey struct {
	day          int64
	proven       bool
	method, path string
	status       int
	code, cause  string
}

// group is the calls of a group: the last one, the time of the first and how many.
type group struct {
	last    Call
	firstAt time.Time
	n       int64
}

// countKey is an hour of a partner.
type countKey struct{ partnerID, hour int64 }

// count is how many calls there were in an hour.
type count struct{ answered, refused, dropped int64 }

func newBatch() *batch {
	return &batch{calls: map[int64][]Call{}, groups: map[int64]map[groupKey]*group{}, counts: map[countKey]*count{}}
}

// hourOf and dayOf are the hour and the day of a time in UTC, counted from 1970.
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }
func dayOf(t time.Time) int64  { return t.Unix() / 86400 }

// Answered counts a call of a partner that was not refused.
func (l *Log) Answered(partnerID int64) {
	at := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting().count(partnerID, at).answered++
}

// Refused takes a refused call. It never waits.
func (l *Log) Refused(c Call) {
	c.At = l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.waiting()
	n := b.count(c.PartnerID, c.At)
	n.refused++
	if !b.add(c) {
		n.dropped++
		l.Metrics.drop(1)
	}
}

// waiting is what waits, under the lock.
func (l *Log) waiting() *batch {
	if l.pending == nil {
		l.pending = newBatch()
	}
	return l.pending
}

// take removes and returns what waits.
func (l *Log) take() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.waiting()
	l.pending = nil
	return b
}

func (b *batch) count(partnerID int64, at time.Time) *count {
	key := countKey{partnerID, hourOf(at)}
	n := b.counts[key]
	if n == nil {
		n = &count{}
		b.counts[key] = n
	}
	return n
}

// add takes a call, and reports whether it fitted.
func (b *batch) add(c Call) bool {
	if !c.Proven || c.Limited {
		return b.group(c)
	}
	list := b.calls[c.PartnerID]
	if b.nCalls >= maxWaitingCalls || len(list) >= maxPartnerCalls {
		return false
	}
	b.calls[c.PartnerID] = append(list, c.cut())
	b.nCalls++
	return true
}

// group adds a call to its group. Its path is the pattern: whoever makes up paths makes
// no groups.
func (b *batch) group(c Call) bool {
	c.Path = c.Route
	key := groupKey{dayOf(c.At), c.Proven, c.Method, c.Path, c.Status, c.Code, c.Cause}
	all := b.groups[c.PartnerID]
	if g := all[key]; g != nil {
		g.last = c.cut()
		g.n++
		return true
	}
	if b.nGroups >= maxWaitingGroups || len(all) >= maxPartnerGroups {
		return false
	}
	if all == nil {
		all = map[groupKey]*group{}
		b.groups[c.PartnerID] = all
	}
	all[key] = &group{last: c.cut(), firstAt: c.At, n: 1}
	b.nGroups++
	return true
}
