package audit

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/sqldb"
)

// walkWindow is the number of ids that one batch of a walk covers if no index serves the filter. So
// no statement takes long, however few entries match.
const walkWindow = 5000

// Walk returns the next entries that match f before an id, newest first, and the id to continue
// from, 0 at the end. Id 0 starts with the newest. A batch can be empty although more follow.
func (l *Log) Walk(ctx context.Context, f Filter, before int64, limit int) (entries []Entry, next int64, err error) {
	if before == 0 {
		newest, err := l.Newest(ctx)
		if err != nil {
			return nil, 0, err
		}
		before = newest + 1
	}
	low := int64(0)
	if f.Subject == "" && f.PartnerID == 0 && (f.ActorKind != ByUser || f.ActorID == 0) {
		low = max(before-walkWindow, 0)
	}
	where, args := f.where()
	args = append(args, before, low, limit)
	n := len(args)
	where = strings.TrimPrefix(where, "WHERE ")
	if where == "" {
		where = "TRUE"
	}
	entries, err = sqldb.All(ctx, l.DB, scanEntry, fmt.Sprintf(`SELECT `+columns+` FROM audit_entries
		WHERE %s AND id < $%d AND id >= $%d ORDER BY id DESC LIMIT $%d`, where, n-2, n-1, n), args...)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read the next audit entries: %w", err)
	case len(entries) == limit:
		next = entries[limit-1].ID
	case low > 1:
		next = low
	}
	return entries, next, nil
}

// Newest returns the id of the newest entry, 0 if there is none. Entries are never removed, so it
// is also their approximate number.
func (l *Log) Newest(ctx context.Context) (int64, error) {
	id, err := sqldb.One(ctx, l.DB, sqldb.Value[int64], `SELECT coalesce(max(id), 0) FROM audit_entries`)
	if err != nil {
		return 0, fmt.Errorf("find the newest audit entry: %w", err)
	}
	return id, nil
}
