package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// skew is the maximum disorder of the times of consecutive entries: each node has its own clock.
const skew = time.Minute

// Found is a page of the entries that match a filter, newest first.
type Found struct {
	Entries    []Entry
	Next       int64     // the next page has entries before this id; 0: there is none
	SearchedTo time.Time // set if the search stopped before the page was full: the time reached
}

// Search returns the newest entries that match f before an id; 0 means all. Every page costs the
// same.
func (l *Log) Search(ctx context.Context, f Filter, before int64, limit int) (Found, error) {
	var found Found
	err := l.DB.Read(ctx, func(tx *sqldb.Tx) error {
		found = Found{}
		before := cmp.Or(before, math.MaxInt64)
		if !f.To.IsZero() {
			id, err := firstAt(ctx, tx, f.To.Add(skew))
			if err != nil {
				return err
			}
			before = min(before, id)
		}
		var err error
		found, err = f.search(ctx, tx, before, limit)
		return err
	})
	if err != nil {
		return Found{}, fmt.Errorf("search audit entries: %w", err)
	}
	return found, nil
}

// search reads entries before an id, chunk by chunk.
func (f Filter) search(ctx context.Context, tx *sqldb.Tx, before int64, limit int) (Found, error) {
	var found Found
	indexed := Filter{Subject: f.Subject}
	if f.Subject == "" && f.ActorKind == ByUser && f.ActorID != 0 {
		indexed = Filter{ActorKind: f.ActorKind, ActorID: f.ActorID}
	}
	where, args := indexed.where()
	if where == "" {
		where = "WHERE "
	} else {
		where += " AND "
	}
	var last Entry
	for looked, chunk := 0, limit+1; looked < paging.MaxLooked; chunk = paging.NextChunk(chunk, looked) {
		rows, err := sqldb.All(
			ctx,
			tx,
			scanEntry,
			fmt.Sprintf(`SELECT `+columns+` FROM audit_entries %s id < $%d ORDER BY id DESC LIMIT $%d`,
				where, len(args)+1, len(args)+2),
			append(args[:len(args):len(args)], before, chunk)...)
		if err != nil {
			return found, err
		}
		for _, e := range rows {
			switch {
			case !f.From.IsZero() && e.At.Before(f.From.Add(-skew)):
				return found, nil
			case !f.means(e):
			case len(found.Entries) == limit:
				found.Next = found.Entries[limit-1].ID
				return found, nil
			default:
				found.Entries = append(found.Entries, e)
			}
		}
		looked += len(rows)
		if len(rows) < chunk {
			return found, nil
		}
		last = rows[len(rows)-1]
		before = last.ID
	}
	found.Next = last.ID
	found.SearchedTo = last.At
	return found, nil
}

// means reports whether an entry matches the filter.
func (f Filter) means(e Entry) bool {
	return (f.Subject == "" || e.Subject == f.Subject) && (f.Action == "" || e.Action == f.Action) &&
		(f.ActorKind == "" || e.Actor.Kind == f.ActorKind) && (f.ActorID == 0 || e.Actor.ID == f.ActorID) &&
		!e.At.Before(f.From) && (f.To.IsZero() || e.At.Before(f.To))
}

// firstAt returns an id below which all entries are before a time, by binary search: ids rise with
// time.
func firstAt(ctx context.Context, tx *sqldb.Tx, at time.Time) (int64, error) {
	type mark struct {
		id int64
		at time.Time
	}
	scan := func(r *sqldb.Row, m *mark) error { return r.Scan(&m.id, &m.at) }
	newest, err := sqldb.One(ctx, tx, scan, `SELECT id, at FROM audit_entries ORDER BY id DESC LIMIT 1`)
	switch {
	case errors.Is(err, sqldb.ErrNone), err == nil && newest.at.Before(at):
		return math.MaxInt64, nil
	case err != nil:
		return 0, err
	}
	// The last entry before the time is not below low, and not above high.
	low := int64(0)
	high := newest.id - 1
	for low < high {
		middle := low + (high-low)/2
		m, err := sqldb.One(ctx, tx, scan, `SELECT id, at FROM audit_entries WHERE id > $1 ORDER BY id LIMIT 1`, middle)
		switch {
		case err != nil:
			return 0, err
		case m.at.Before(at):
			low = m.id
		default:
			high = middle
		}
	}
	return low + 1, nil
}
