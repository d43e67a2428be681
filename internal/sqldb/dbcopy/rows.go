package dbcopy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/sqldb"
)

// A transaction copies one chunk: this many rows, or fewer if they are long.
const (
	chunkRows  = 20_000
	chunkBytes = 16 << 20
)

// chunk is a batch of rows to be copied.
type chunk struct {
	rows  [][]any
	bytes int
}

// cells reads a row as int64, string and bool. SQLite stores a bool as a number.
func cells(row *sqldb.Row, columns []column) ([]any, error) {
	values, err := row.Values()
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		n, number := values[i].(int64)
		_, text := values[i].(string)
		if number && c.kind == cellBool && (n == 0 || n == 1) {
			values[i] = n == 1
			continue
		}
		if text != (c.kind == cellText) || number && c.kind == cellBool {
			return nil, fmt.Errorf(
				"the column %s has a value, %v, that the other database cannot hold", c.name, values[i],
			)
		}
	}
	return values, nil
}

// length returns the approximate size of a row in bytes.
func length(row []any) int {
	n := 8 * len(row)
	for _, cell := range row {
		if s, ok := cell.(string); ok {
			n += len(s)
		}
	}
	return n
}

// progress is the state of a table in a copy.
type progress struct {
	last []any
	rows int64
	done bool
}

// progress reads the state of the tables.
func (r *transfer) progress(ctx context.Context) (map[string]progress, error) {
	type row struct {
		name, last string
		progress
	}
	list, err := sqldb.All(ctx, r.to.db, func(r *sqldb.Row, p *row) error {
		return r.Scan(&p.name, &p.last, &p.rows, &p.done)
	}, `SELECT name, last, rows, done FROM copied_tables`)
	if err != nil {
		return nil, err
	}
	found := map[string]progress{}
	for _, p := range list {
		d := json.NewDecoder(bytes.NewReader([]byte(p.last)))
		d.UseNumber()
		if err := d.Decode(&p.progress.last); err != nil {
			return nil, fmt.Errorf("read how far %s has come: %w", p.name, err)
		}
		for i, v := range p.progress.last {
			if n, ok := v.(json.Number); ok {
				if p.progress.last[i], err = n.Int64(); err != nil {
					return nil, fmt.Errorf("read how far %s has come: %w", p.name, err)
				}
			}
		}
		found[p.name] = p.progress
	}
	return found, nil
}

// table copies the missing rows of a table. One goroutine reads; this one writes.
func (r *transfer) table(ctx context.Context, source *sqldb.Tx, t table, at progress, tell func(rows int64)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	chunks := make(chan chunk, 1)
	read := make(chan error, 1)
	go func() {
		defer close(chunks)
		read <- r.readChunks(ctx, source, t, at.last, chunks)
	}()
	var failed error
	for c := range chunks {
		if failed != nil {
			continue // wait for the reader to end
		}
		at.rows += int64(len(c.rows))
		if failed = r.writeChunk(ctx, t, c, at.rows); failed != nil {
			stop(failed)
			continue
		}
		tell(at.rows)
	}
	if err := <-read; failed == nil && err != nil {
		failed = err
	}
	if failed == nil {
		failed = r.store(ctx, t, at)
	}
	if failed != nil {
		return fmt.Errorf("copy the table %s: %w", t.name, failed)
	}
	return nil
}

// readChunks sends the rows after a key. A table without a key is one chunk.
func (r *transfer) readChunks(ctx context.Context, source *sqldb.Tx, t table, last []any, to chan<- chunk) error {
	most := r.rows
	if most == 0 {
		most = chunkRows
	}
	var c chunk
	send := func() error {
		select {
		case to <- c:
			c = chunk{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	add := func(row *sqldb.Row) error {
		cells, err := cells(row, t.columns)
		if err != nil {
			return err
		}
		c.rows = append(c.rows, cells)
		c.bytes += length(cells)
		if len(t.key) > 0 && (len(c.rows) >= most || c.bytes >= chunkBytes) {
			return send()
		}
		return nil
	}
	err := sqldb.Each(ctx, source, add, t.query(r.from.dialect(), last), last...)
	if err == nil && len(c.rows) > 0 {
		err = send()
	}
	return err
}

// writeChunk stores rows together with the progress of their table.
func (r *transfer) writeChunk(ctx context.Context, t table, c chunk, rows int64) error {
	last := []any{}
	for _, n := range t.key {
		last = append(last, c.rows[len(c.rows)-1][n])
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Copy(t.name, t.names(), c.rows)
		tx.Queue(`INSERT INTO copied_tables (name, last, rows, done) VALUES ($1, $2, $3, FALSE)
			ON CONFLICT (name) DO UPDATE SET last = excluded.last, rows = excluded.rows`, t.name, string(text), rows)
		return nil
	})
}

// store records that a table has been copied.
func (r *transfer) store(ctx context.Context, t table, at progress) error {
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO copied_tables (name, last, rows, done) VALUES ($1, '[]', $2, TRUE)
			ON CONFLICT (name) DO UPDATE SET done = TRUE`, t.name, at.rows)
		return nil
	})
}

// empty deletes rows that migrations created in the target; the source has its own.
func (r *transfer) empty(ctx context.Context) error {
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM copied_tables`)
		for _, t := range slices.Backward(r.tables) {
			tx.Queue(`DELETE FROM ` + t.name)
		}
		return nil
	})
}

// restart deletes the copied rows of a table without a key: the missing ones cannot be determined.
func (r *transfer) restart(ctx context.Context, t table) error {
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM ` + t.name)
		return nil
	})
}

// copyAll copies every table, from one snapshot of the source.
func (r *transfer) copyAll(ctx context.Context, source *sqldb.Tx) error {
	at, err := r.progress(ctx)
	if err != nil {
		return err
	}
	if len(at) == 0 {
		if err := r.empty(ctx); err != nil {
			return err
		}
	}
	for i, t := range r.tables {
		tell := func(rows int64) {
			r.tell(Progress{Table: t.name, Number: i + 1, Tables: len(r.tables), Rows: rows})
		}
		p := at[t.name]
		tell(p.rows)
		if p.done {
			continue
		}
		if len(t.key) == 0 {
			if err := r.restart(ctx, t); err != nil {
				return err
			}
			p = progress{}
		}
		if err := r.table(ctx, source, t, p, tell); err != nil {
			return err
		}
	}
	return nil
}

func (r *transfer) tell(p Progress) {
	if r.Tell != nil {
		r.Tell(p)
	}
}

// run copies, verifies and moves the mark.
func (r *transfer) run(ctx context.Context) (Result, error) {
	done := Result{Resumed: r.resumed}
	err := r.from.db.Read(ctx, func(source *sqldb.Tx) error {
		r.from.dialect().beginIn(source)
		if err := r.copyAll(ctx, source); err != nil {
			return err
		}
		if err := r.setSequences(ctx, source); err != nil {
			return err
		}
		var err error
		done.Tables, err = r.verify(ctx, source)
		return err
	})
	if err == nil && r.Prove != nil {
		err = r.Prove(ctx, r.to.db)
	}
	if err == nil {
		err = r.finish(ctx)
	}
	return done, err
}

// finish marks the source as moved, and only then makes the target usable.
func (r *transfer) finish(ctx context.Context) error {
	if !r.moved {
		var n int64
		err := r.from.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			n, err = tx.Exec(ctx, `UPDATE copies SET role = $2, moved_at = $3 WHERE id = $1`, r.id, roleMoved, r.Now)
			return err
		})
		if err == nil && n == 0 {
			err = errors.New("its mark is missing")
		}
		if err != nil {
			return fmt.Errorf("mark %s as moved: %w", r.from.name, err)
		}
	}
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM copied_tables`)
		tx.Queue(`DELETE FROM copies`)
		return nil
	})
}
