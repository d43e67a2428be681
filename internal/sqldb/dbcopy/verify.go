package dbcopy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// verify reads all rows of both databases and compares them.
func (r *transfer) verify(ctx context.Context, source *sqldb.Tx) (done []Table, err error) {
	err = r.to.db.Read(ctx, func(target *sqldb.Tx) error {
		done = nil
		r.to.dialect().beginIn(target)
		for i, t := range r.tables {
			tell := func(rows int64) {
				r.tell(Progress{Table: t.name, Number: i + 1, Tables: len(r.tables), Rows: rows, Verifying: true})
			}
			tell(0)
			same, err := r.compare(ctx, source, target, t, tell)
			if err != nil {
				return fmt.Errorf("verify the table %s: %w", t.name, err)
			}
			done = append(done, same)
		}
		return nil
	})
	return done, err
}

// errDiffers means that the databases have different rows.
var errDiffers = errors.New("the two databases differ")

// encoded is a sequence of encoded rows and the end of each.
type encoded struct {
	bytes []byte
	ends  []int
}

// row returns the n-th row, or nil if there are fewer.
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

// compare reads a table of both databases in the same order and compares the rows.
func (r *transfer) compare(ctx context.Context, source, target *sqldb.Tx, t table, tell func(int64)) (Table, error) {
	ctx, stop := context.WithCancel(ctx)
	same := Table{Name: t.name}
	sum := sha256.New()
	left := streamRows(ctx, source, t, r.from.dialect())
	right := streamRows(ctx, target, t, r.to.dialect())
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
			return fmt.Errorf(
				"%w in row %d, in the order of its key; the copy is not used. Remove it and copy again",
				errDiffers,
				before+int64(n)+1,
			)
		}
	}
}

// rowStream is a table being read.
type rowStream struct {
	batches chan encoded
	err     error // set before batches is closed
}

// streamBytes is the approximate size of a batch that is read ahead.
const streamBytes = 1 << 20

// streamRows reads a table in its own goroutine. Equal tables give equal batches.
func streamRows(ctx context.Context, tx *sqldb.Tx, t table, d dialect) *rowStream {
	s := &rowStream{batches: make(chan encoded, 2)}
	go func() {
		defer close(s.batches)
		s.err = s.read(ctx, tx, t, d)
	}()
	return s
}

func (s *rowStream) read(ctx context.Context, tx *sqldb.Tx, t table, d dialect) error {
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
	add := func(row *sqldb.Row) error {
		cells, err := cells(row, t.columns)
		if err != nil {
			return err
		}
		e.bytes = appendCells(e.bytes, cells)
		e.ends = append(e.ends, len(e.bytes))
		if len(e.bytes) >= streamBytes {
			return send()
		}
		return nil
	}
	err := sqldb.Each(ctx, tx, add, t.query(d, nil))
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

// drain waits for the goroutine to end, because the next table uses its transaction.
func (s *rowStream) drain() {
	for range s.batches { // discard
	}
}

// appendCells encodes a row so that different rows have different bytes, the same on both
// databases.
func appendCells(b []byte, cells []any) []byte {
	for _, cell := range cells {
		switch v := cell.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'n'), uint64(v)) //nolint:gosec // only the bits count
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

// setSequences sets the ids of the target to continue those of the source, above every row.
func (r *transfer) setSequences(ctx context.Context, source *sqldb.Tx) error {
	list, err := sqldb.Sequences(ctx, source)
	if err != nil {
		return err
	}
	if err := r.to.db.Raise(ctx, list); err != nil {
		return err
	}
	finish := r.to.dialect().finish
	if finish == "" {
		return nil
	}
	return r.to.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(finish)
		return nil
	})
}
