package dbcopy

import (
	"context"
	"errors"
)

// InChunks sets the number of rows per transaction of a copy.
func (c Spec) InChunks(rows int) Spec {
	c.rows = rows
	return c
}

// TableColumns returns the columns of each copied table with their kinds: text, boolean or number.
func TableColumns(ctx context.Context, from, to string) (names []string, columns map[string][][2]string, err error) {
	run := &transfer{from: &side{url: from}, to: &side{url: to}}
	defer func() { err = errors.Join(err, run.close()) }()
	for _, s := range []*side{run.from, run.to} {
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
