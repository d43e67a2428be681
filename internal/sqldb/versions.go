package sqldb

import (
	"context"
	"strconv"
	"strings"
)

// version is a row for Versions.
type version struct {
	id   int64
	text string
}

// scanVersion returns a function that scans an id and the given number of integers.
func scanVersion(columns int) func(*Row, *version) error {
	return func(r *Row, v *version) error {
		numbers := make([]int64, columns)
		to := []any{&v.id}
		for i := range numbers {
			to = append(to, &numbers[i])
		}
		if err := r.Scan(to...); err != nil {
			return err
		}
		var b strings.Builder
		for _, n := range numbers {
			b.WriteString("." + strconv.FormatInt(n, 36))
		}
		v.text = b.String()
		return nil
	}
}

// Versions returns a version string per id, which changes whenever one of its numbers does. Live
// pages use it. sql must select the id first, then `columns` integers; $1 are the ids, and args
// start at $2. An id may have several rows.
func Versions(
	ctx context.Context,
	r Reader,
	ids []int64,
	columns int,
	sql string,
	args ...any,
) (map[int64]string, error) {
	rows, err := All(ctx, r, scanVersion(columns), sql, append([]any{ids}, args...)...)
	if err != nil {
		return nil, err
	}
	return joined(make(map[int64]string, len(ids)), rows), nil
}

// VersionsOfEach is Versions with one query per id, for queries with a LIMIT.
func VersionsOfEach(
	ctx context.Context,
	db *DB,
	ids []int64,
	columns int,
	sql string,
) (found map[int64]string, err error) {
	err = db.Read(ctx, func(tx *Tx) error {
		found = make(map[int64]string, len(ids))
		queries := make([]*Result[version], len(ids))
		for i, id := range ids {
			queries[i] = QueueQuery(tx, scanVersion(columns), sql, id)
		}
		for _, q := range queries {
			rows, err := q.All(ctx)
			if err != nil {
				return err
			}
			joined(found, rows)
		}
		return nil
	})
	return found, err
}

func joined(found map[int64]string, rows []version) map[int64]string {
	for _, v := range rows {
		found[v.id] += v.text
	}
	return found
}
