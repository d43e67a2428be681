package sqldb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// verify reads all rows of both databases and compares them.
func (r *copyRun) verify(ctx context.Context, source *Tx) (done []CopiedTable, err error) {
	err = r.to.db.Read(ctx, func(target *Tx) error {
		done = nil
		target.beginCopy()
		for i, t := range r.tables {
			tell := func(rows int64) {
				r.tell(CopyProgress{Table: t.name, Number: i + 1, Tables: len(r.tables), Rows: rows, Verifying: true})
			}
			tell(0)
			same, err := compare(ctx, source, target, t, tell)
			if err != nil {
				return fmt.Errorf("verify the table %s: %w", t.name, err)
			}
			done = append(done, same)
		}
		return nil
	})
	return done, err
}

// errDiffers says that the databases have different rows.
var errDiffers = errors.New("the two databases differ")

// encoded is rows one after the other, and where each ends.
type encoded struct {
	bytes []byte
	ends  []int
}

// row returns the n-th row, nil if there are fewer.
func (e encoded) row(n int) []byte {
	if n >= len(e.ends) {
		return nil
	}
	begin := 0
	if n > 0 {
		begin = e.ends[n-1]
	}
	return e.bytes[begin:e.ends[n]]
}

// compare reads a table of both databases in the same order.
func compare(ctx context.Context, source, target *Tx, t copyTable, tell func(int64)) (CopiedTable, error) {
	ctx, stop := context.WithCancel(ctx)
	same, sum := CopiedTable{Name: t.name}, sha256.New()
	left, right := streamRows(ctx, source, t), streamRows(ctx, target, t)
	defer func() {
		stop()
		left.drain()
		right.drain()
	}()
	for {
		a, err := left.next()
		if err != nil {
			return same, err
		}
		b, err := right.next()
		if err != nil {
			return same, err
		}
		if err := match(a, b, same.Rows); err != nil {
			return same, err
		}
		if len(a.ends) == 0 {
			same.Hash = hex.EncodeToString(sum.Sum(nil))
			return same, nil
		}
		_, _ = sum.Write(a.bytes) // a hash never fails
		same.Rows += int64(len(a.ends))
		tell(same.Rows)
	}
}

// match finds the first row that differs.
func match(a, b encoded, before int64) error {
	if bytes.Equal(a.bytes, b.bytes) && len(a.ends) == len(b.ends) {
		return nil
	}
	for n := 0; ; n++ {
		if x, y := a.row(n), b.row(n); !bytes.Equal(x, y) {
			return fmt.Errorf("%w in row %d, in the order of its key; the copy is not used. Remove it and copy again", errDiffers, before+int64(n)+1)
		}
	}
}

// rowStream is a table that is being read.
type rowStream struct {
	batches chan encoded
	err     error // set before batches is closed
}

// streamBytes is about how much is read ahead.
const streamBytes = 1 << 20

// streamRows reads a table in a goroutine of its own, in batches that have the same rows
// if the tables have.
func streamRows(ctx context.Context, tx *Tx, t copyTable) *rowStream {
	s := &rowStream{batches: make(chan encoded, 2)}
	go func() {
		defer close(s.batches)
		s.err = s.read(ctx, tx, t)
	}()
	return s
}

func (s *rowStream) read(ctx context.Context, tx *Tx, t copyTable) error {
	var e encoded
	send := func() error {
		select {
		case s.batches <- e:
			e = encoded{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := tx.query(ctx, &statement{sql: t.query(tx.engine.copyText(), nil), each: func(row *Row) error {
		cells, err := row.cells(t.columns)
		if err != nil {
			return err
		}
		e.bytes = appendCells(e.bytes, cells)
		if e.ends = append(e.ends, len(e.bytes)); len(e.bytes) >= streamBytes {
			return send()
		}
		return nil
	}})
	if err == nil && len(e.ends) > 0 {
		err = send()
	}
	return err
}

// next returns the next batch, an empty one at the end.
func (s *rowStream) next() (encoded, error) {
	e, more := <-s.batches
	if !more {
		return encoded{}, s.err
	}
	return e, nil
}

// drain waits until the goroutine has ended: its transaction serves the next table.
func (s *rowStream) drain() {
	for range s.batches { // what is left is not wanted
	}
}

// appendCells writes a row so that different rows have different bytes, whichever
// database they are in.
func appendCells(b []byte, cells []any) []byte {
	for _, cell := range cells {
		switch v := cell.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'n'), uint64(v)) //nolint:gosec // its bits
		case string:
			b = append(binary.AppendUvarint(append(b, 't'), uint64(len(v))), v...)
		case bool:
			if v {
				b = append(b, '1')
			} else {
				b = append(b, '0')
			}
		}
	}
	return b
}

// setSequences makes the ids of the target go on where those of the source are, and
// behind every row.
func (r *copyRun) setSequences(ctx context.Context, source *Tx) error {
	list, err := All(ctx, source, scanSequence, source.engine.copyText().sequences)
	if err != nil {
		return err
	}
	if err := r.to.db.engine.setSequences(ctx, list); err != nil {
		return fmt.Errorf("set the sequences of ids: %w", err)
	}
	if sql := r.to.db.engine.copyText().finish; sql != "" {
		return r.to.db.Write(ctx, func(tx *Tx) error {
			tx.Queue(sql)
			return nil
		})
	}
	return nil
}

func scanSequence(r *Row, s *sequence) error { return r.Scan(&s.table, &s.name, &s.last) }

// setSequences need not look at the rows: SQLite numbers on from the highest.
func (l *sqlite) setSequences(ctx context.Context, list []sequence) error {
	return (&DB{engine: l}).pass(ctx, list)
}

// setSequences numbers the rows of a table on from the highest where the source has no
// sequence for them.
func (p *postgres) setSequences(ctx context.Context, list []sequence) error {
	db := &DB{engine: p}
	last := map[sequence]int64{}
	for _, s := range list {
		last[sequence{table: s.table, name: s.name}] = s.last
	}
	own, err := All(ctx, db, scanSequence, p.copyText().sequences)
	if err != nil {
		return err
	}
	for _, s := range own {
		name, highest := `$1::text::regclass`, `0`
		if s.table {
			name, highest = `pg_get_serial_sequence($1, 'id')::regclass`, `coalesce((SELECT max(id) FROM `+s.name+`), 0)`
		}
		to, err := One(ctx, db, Value[int64], `SELECT greatest($1::bigint, `+highest+`)`, last[sequence{table: s.table, name: s.name}])
		if err == nil && to > 0 {
			_, err = One(ctx, db, Value[int64], `SELECT setval(`+name+`, $2)`, s.name, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
