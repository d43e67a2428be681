package sqldb

import (
	"context"
	"errors"
	"time"
)

// SetPing makes listeners ping themselves that often.
func (db *DB) SetPing(every time.Duration) {
	if p, ok := db.engine.(*postgres); ok {
		p.ping = every
	}
}

// InChunks makes a copy commit that many rows at a time.
func (c Copying) InChunks(rows int) Copying {
	c.rows = rows
	return c
}

// TableColumns returns the names of the columns of each table that is copied, and which of
// them are texts, which are booleans, and the rest numbers.
func TableColumns(ctx context.Context, from, to string) (names []string, columns map[string][][2]string, err error) {
	run := &copyRun{from: &copySide{url: from}, to: &copySide{url: to}}
	defer func() { err = errors.Join(err, run.close()) }()
	for _, s := range []*copySide{run.from, run.to} {
		if err := s.open(ctx); err != nil {
			return nil, nil, err
		}
	}
	tables, err := run.readTables(ctx)
	columns = map[string][][2]string{}
	for _, t := range tables {
		names = append(names, t.name)
		for _, c := range t.columns {
			columns[t.name] = append(columns[t.name], [2]string{c.name, []string{"number", "text", "bool"}[c.kind]})
		}
	}
	return names, columns, err
}
