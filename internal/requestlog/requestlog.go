// Package requestlog stores a partner's refused calls of the last seven days with their reasons,
// for its developers, and counts answered calls. It owns the tables refused_counters,
// refused_calls, refused_groups and request_counts.
//
// A request only adds to a bounded queue in memory: it never waits or fails because of the log. A
// writer stores the queue in batches; calls that do not fit are counted as dropped. A killed
// process loses its unwritten calls, about a second's worth.
//
// A partner has at most MaxEntries. Authenticated calls have one each, and a new one replaces the
// oldest. Client ids are public, so anyone can make calls that name a partner. Those are grouped:
// one entry for all that were refused in the same way on a day, in at most a tenth of the entries.
// Calls beyond a rate limit are grouped, too.
//
// No entry contains a query, a header or a body, and anything like a secret in a path or a message
// is replaced.
package requestlog

import (
	"log/slog"
	"sync"
	"time"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// MaxEntries is the maximum number of a partner's entries; MaxGroups of them are groups.
const (
	MaxEntries = 2000
	MaxGroups  = MaxEntries / 10
	slots      = MaxEntries - MaxGroups
)

// Kept is how long an entry is shown; countsKept is the retention of the hourly counts.
const (
	Kept       = 7 * 24 * time.Hour
	countsKept = 90 * 24 * time.Hour
)

// The limits of the queue in memory, for all partners and for one, so that one partner's flood
// leaves the others their share. It is written once a second.
const (
	maxWaitingCalls  = 2048
	maxPartnerCalls  = 256
	maxWaitingGroups = 1024
	maxPartnerGroups = 64
)

// Call is a refused call.
type Call struct {
	PartnerID int64
	Proven    bool // with valid credentials of the partner; otherwise the call only named it
	Limited   bool // rejected by a rate limit
	At        time.Time
	Method    string
	Path      string // without the query
	Route     string // pattern that the path matched; "": none
	Status    int
	Code      string
	Cause     string // the exact cause, if the code has several; or ""
	Message   string
	RequestID string
	License   string // key of the license that it named; or ""
	LicenseID int64  // or the id of that license; 0
}

// Entry is one refused call, or a group of them.
type Entry struct {
	Seq       int64 // unique for the partner
	At        time.Time
	FirstAt   time.Time // of a group; otherwise At
	Count     int64     // 1 for a single call
	Grouped   bool
	Proven    bool // with valid credentials of the partner
	Method    string
	Path      string // of a group: the pattern
	Status    int
	Code      string
	Cause     string
	Message   string
	RequestID string // of a group: of the last call
	License   string // of a group: of the last call
}

// Log stores refused calls. DB and Now must be set.
type Log struct {
	DB  *sqldb.DB
	Now func() time.Time

	Licenses *license.Store // has the keys of licenses; nil: they are not looked up

	Metrics *Metrics     // nil: no metrics
	Logger  *slog.Logger // nil: no log messages

	flushing sync.Mutex
	writing  *batch // removed from pending and not written yet; guarded by flushing

	mu      sync.Mutex
	pending *batch // guarded by mu
}

// batch contains unwritten calls and counts.
type batch struct {
	calls   map[int64][]Call // by partner
	groups  map[int64]map[groupKey]*group
	counts  map[countKey]*count
	nCalls  int
	nGroups int
}

// groupKey contains the values that all calls of a group share.
type groupKey struct {
	day          int64
	proven       bool
	method, path string
	status       int
	code, cause  string
}

// group summarizes the calls of a group: the last one, the time of the first, and the number.
type group struct {
	last    Call
	firstAt time.Time
	n       int64
}

// countKey is an hour of a partner.
type countKey struct{ partnerID, hour int64 }

// count counts calls in an hour.
type count struct{ answered, refused, dropped int64 }

func newBatch() *batch {
	return &batch{calls: map[int64][]Call{}, groups: map[int64]map[groupKey]*group{}, counts: map[countKey]*count{}}
}

// hourOf and dayOf return the hour and the day of a time in UTC, counted from 1970.
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }
func dayOf(t time.Time) int64  { return t.Unix() / 86400 }

// Answered counts a call of a partner that was not refused.
func (l *Log) Answered(partnerID int64) {
	at := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting().count(partnerID, at).answered++
}

// Refused queues a refused call. It never waits.
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

// waiting returns the pending batch. The caller must hold mu.
func (l *Log) waiting() *batch {
	if l.pending == nil {
		l.pending = newBatch()
	}
	return l.pending
}

// drain removes and returns the pending batch.
func (l *Log) drain() *batch {
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

// add adds a call, and reports whether it fitted.
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

// group adds a call to its group. The group has the pattern of the path, so that invented paths
// make no groups.
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
