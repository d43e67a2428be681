package sqldb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// A chunk is what one transaction copies: so many rows, or fewer if they are long.
const (
	chunkRows  = 20_000
	chunkBytes = 16 << 20
)

// chunk is rows of a table on their way.
type chunk struct {
	rows  [][]any
	bytes int
}

// cells reads a row as int64, string and bool.
func (r *Row) cells(columns []copyColumn) ([]any, error) {
	if r.lite == nil {
		return r.pg.Values()
	}
	row := make([]any, len(columns))
	for i, c := range columns {
		switch kind := r.lite.ColumnType(i); {
		case kind == sqlite3.TEXT && c.kind == cellText:
			row[i] = r.lite.ColumnText(i)
		case kind == sqlite3.INTEGER && c.kind == cellNumber:
			row[i] = r.lite.ColumnInt64(i)
		case kind == sqlite3.INTEGER && c.kind == cellBool && uint64(r.lite.ColumnInt64(i)) <= 1: //nolint:gosec // a negative one is large
			row[i] = r.lite.ColumnInt64(i) == 1
		default:
			return nil, fmt.Errorf("the column %s has a value, %q, that the other database cannot hold", c.name, r.lite.ColumnText(i))
		}
	}
	return row, nil
}

// length is about how many bytes a row has.
func length(row []any) int {
	n := 8 * len(row)
	for _, cell := range row {
		if s, ok := cell.(string); ok {
			n += len(s)
		}
	}
	return n
}

// progress is how far a table has come.
type progress struct {
	last []any
	rows int64
	done bool
}

// progress reads how far the tables have come.
func (r *copyRun) progress(ctx context.Context) (map[string]progress, error) {
	type row struct {
		name, last string
		progress
	}
	list, err := All(ctx, r.to.db, func(r *Row, p *row) error {
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

// copyTable copies the rows of a table that are missing. One goroutine reads and this one
// writes.
func (r *copyRun) copyTable(ctx context.Context, source *Tx, t copyTable, at progress, tell func(rows int64)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	chunks, read := make(chan chunk, 1), make(chan error, 1)
	go func() {
		defer close(chunks)
		read <- r.readChunks(ctx, source, t, at.last, chunks)
	}()
	var failed error
	for c := range chunks {
		if failed != nil {
			continue // until the reader has ended
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

// readChunks sends the rows behind a key. A table without a key is one chunk.
func (r *copyRun) readChunks(ctx context.Context, source *Tx, t copyTable, last []any, to chan<- chunk) error {
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
	err := source.query(ctx, &statement{sql: t.query(source.engine.copyText(), last), args: last, each: func(row *Row) error {
		cells, err := row.cells(t.columns)
		if err != nil {
			return err
		}
		c.rows, c.bytes = append(c.rows, cells), c.bytes+length(cells)
		if len(t.key) > 0 && (len(c.rows) >= most || c.bytes >= chunkBytes) {
			return send()
		}
		return nil
	}})
	if err == nil && len(c.rows) > 0 {
		err = send()
	}
	return err
}

// writeChunk stores rows, and how far the table has come with them.
func (r *copyRun) writeChunk(ctx context.Context, t copyTable, c chunk, rows int64) error {
	last := []any{}
	for _, n := range t.key {
		last = append(last, c.rows[len(c.rows)-1][n])
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	return r.to.db.Write(ctx, func(tx *Tx) error {
		tx.Copy(t.name, t.names(), c.rows)
		tx.Queue(`INSERT INTO copied_tables (name, last, rows, done) VALUES ($1, $2, $3, FALSE)
			ON CONFLICT (name) DO UPDATE SET last = excluded.last, rows = excluded.rows`, t.name, string(text), rows)
		return nil
	})
}

// store writes down that a table has been copied.
func (r *copyRun) store(ctx context.Context, t copyTable, at progress) error {
	return r.to.db.Write(ctx, func(tx *Tx) error {
		tx.Queue(`INSERT INTO copied_tables (name, last, rows, done) VALUES ($1, '[]', $2, TRUE)
			ON CONFLICT (name) DO UPDATE SET done = TRUE`, t.name, at.rows)
		return nil
	})
}

// empty removes what migrations have made in the target: the source has its own of that.
func (r *copyRun) empty(ctx context.Context) error {
	return r.to.db.Write(ctx, func(tx *Tx) error {
		tx.Queue(`DELETE FROM copied_tables`)
		for _, t := range slices.Backward(r.tables) {
			tx.Queue(`DELETE FROM ` + t.name)
		}
		return nil
	})
}

// restart removes what was copied of a table without a key: nobody knows what is missing.
func (r *copyRun) restart(ctx context.Context, t copyTable) error {
	return r.to.db.Write(ctx, func(tx *Tx) error {
		tx.Queue(`DELETE FROM ` + t.name)
		return nil
	})
}

// copyAll copies every table, from one snapshot of the source.
func (r *copyRun) copyAll(ctx context.Context, source *Tx) error {
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
			r.tell(CopyProgress{Table: t.name, Number: i + 1, Tables: len(r.tables), Rows: rows})
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
		if err := r.copyTable(ctx, source, t, p, tell); err != nil {
			return err
		}
	}
	return nil
}

func (r *copyRun) tell(p CopyProgress) {
	if r.Tell != nil {
		r.Tell(p)
	}
}

// run copies, verifies and moves the mark.
func (r *copyRun) run(ctx context.Context) (Copied, error) {
	done := Copied{Resumed: r.resumed}
	err := r.from.db.Read(ctx, func(source *Tx) error {
		source.beginCopy()
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

// finish says in the source that its data is elsewhere now, and only then lets the
// target be used.
func (r *copyRun) finish(ctx context.Context) error {
	if !r.moved {
		var n int64
		err := r.from.db.Write(ctx, func(tx *Tx) (err error) {
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
	return r.to.db.Write(ctx, func(tx *Tx) error {
		tx.Queue(`DELETE FROM copied_tables`)
		tx.Queue(`DELETE FROM copies`)
		return nil
	})
}
