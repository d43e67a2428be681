package requestlog

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// Filter narrows the list; the zero value lists all.
type Filter struct {
	Status    int
	Code      string // or cause
	Path      string // part of the path
	RequestID string
	License   string
	From, To  time.Time // zero: no bound; To is excluded
	After     Position  // only entries after it
	Limit     int64
}

// List is a page of entries, the newest first.
type List struct {
	Entries []Entry
	Next    Position // start of the next page; zero: there is none
}

// Position is the start of a page: after an entry.
type Position struct {
	At  time.Time
	Seq int64
}

// String returns the position as an opaque cursor. It grants no access.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	b := binary.AppendVarint(nil, p.At.UnixNano())
	return base64.RawURLEncoding.EncodeToString(binary.AppendVarint(b, p.Seq))
}

// ParsePosition parses a cursor.
func ParsePosition(s string) (p Position, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return p, false
	}
	at, n := binary.Varint(b)
	if n <= 0 || at <= 0 {
		return p, false
	}
	seq, m := binary.Varint(b[n:])
	if m <= 0 || seq <= 0 || n+m != len(b) {
		return p, false
	}
	return Position{At: time.Unix(0, at).UTC(), Seq: seq}, true
}

func scanEntry(r *sqldb.Row, e *Entry) error {
	return r.Scan(
		&e.Seq,
		&e.At,
		&e.FirstAt,
		&e.Count,
		&e.Grouped,
		&e.Proven,
		&e.Method,
		&e.Path,
		&e.Status,
		&e.Code,
		&e.Cause,
		&e.Message,
		&e.RequestID,
		&e.License,
	)
}

// List lists a partner's refused calls of the last seven days. Calls and groups are read by an
// index of their times, each at most a page. A filter examines at most MaxEntries of them.
func (l *Log) List(ctx context.Context, partnerID int64, f Filter) (List, error) {
	from := l.Now().Add(-Kept)
	if f.From.After(from) {
		from = f.From
	}
	where, args := f.conditions([]any{partnerID, from, f.Limit + 1})
	const order = ` ORDER BY at DESC, seq DESC LIMIT $3`
	entries, err := sqldb.All(
		ctx,
		l.DB,
		scanEntry,
		`SELECT seq, at, first_at, count, grouped, proven, method, path, status, code, cause, message, request_id,
			license_key
		FROM (SELECT * FROM (SELECT seq, at, at AS first_at, 1 AS count, TRUE AS proven, FALSE AS grouped, method, path,
		status, code, cause, message, request_id, license_key
				FROM refused_calls WHERE `+where+order+`) AS c
			UNION ALL SELECT *
			FROM (SELECT seq, at, first_at, count, proven, TRUE AS grouped, method, path, status, code, cause, message,
			request_id, license_key
				FROM refused_groups WHERE `+where+order+`) AS g) AS entries`+order,
		args...)
	if err != nil {
		return List{}, fmt.Errorf("list refused requests: %w", err)
	}
	list := List{Entries: entries}
	if n := f.Limit; int64(len(entries)) > n {
		list.Entries = entries[:n]
		list.Next = Position{At: entries[n-1].At, Seq: entries[n-1].Seq}
	}
	return list, nil
}

// conditions returns the filter conditions for both tables.
func (f Filter) conditions(args []any) (string, []any) {
	where := `partner_id = $1 AND at >= $2`
	add := func(condition string, values ...any) {
		at := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			at[i] = len(args)
		}
		where += ` AND ` + fmt.Sprintf(condition, at...)
	}
	if !f.To.IsZero() {
		add(`at < $%d`, f.To)
	}
	if f.After != (Position{}) {
		add(`(at, seq) < ($%d, $%d)`, f.After.At, f.After.Seq)
	}
	if f.Status != 0 {
		add(`status = $%d`, f.Status)
	}
	if f.Code != "" {
		add(`(code = $%[1]d OR cause = $%[1]d)`, f.Code)
	}
	if f.Path != "" {
		add(`replace(path, $%d, '') <> path`, f.Path)
	}
	if f.RequestID != "" {
		add(`request_id = $%d`, f.RequestID)
	}
	if f.License != "" {
		add(`license_key = $%d`, f.License)
	}
	return where, args
}

// Hour counts a partner's calls in an hour.
type Hour struct {
	At       time.Time // its start
	Answered int64
	Refused  int64
	Dropped  int64 // refused calls missing from the list, because too many came at the same time
}

// Hours returns the counts of a partner from the hour of a time on, the oldest first. Hours without
// a call are omitted.
func (l *Log) Hours(ctx context.Context, partnerID int64, from time.Time) ([]Hour, error) {
	list, err := sqldb.All(ctx, l.DB, func(r *sqldb.Row, h *Hour) error {
		var hour int64
		err := r.Scan(&hour, &h.Answered, &h.Refused, &h.Dropped)
		h.At = time.Unix(hour*3600, 0).UTC()
		return err
	}, `SELECT hour, answered, refused, dropped FROM request_counts WHERE partner_id = $1 AND hour >= $2
		ORDER BY hour`, partnerID, hourOf(from))
	if err != nil {
		return nil, fmt.Errorf("read how many requests there were: %w", err)
	}
	return list, nil
}

// Sum returns the total counts of a partner from the hour of a time on.
func (l *Log) Sum(ctx context.Context, partnerID int64, from time.Time) (Hour, error) {
	sum, err := sqldb.One(
		ctx,
		l.DB,
		func(r *sqldb.Row, h *Hour) error { return r.Scan(&h.Answered, &h.Refused, &h.Dropped) },
		`SELECT CAST(coalesce(sum(answered), 0) AS bigint), CAST(coalesce(sum(refused), 0) AS bigint),
			CAST(coalesce(sum(dropped), 0) AS bigint)
		FROM request_counts WHERE partner_id = $1 AND hour >= $2`,
		partnerID,
		hourOf(from),
	)
	if err != nil {
		return Hour{}, fmt.Errorf("count requests: %w", err)
	}
	return sum, nil
}

// Expiring lists the rows that expire: refused calls and counts.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "refused_calls", Key: "partner_id, slot", At: "at", Keep: Kept},
		{Table: "refused_groups", Key: "partner_id, seq", At: "at", Keep: Kept},
		{Table: "request_counts", Key: "partner_id, hour", At: "hour", Keep: countsKept, Hours: true},
	}
}
