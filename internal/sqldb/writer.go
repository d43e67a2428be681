package sqldb

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// maxGroup limits the transactions per commit, and so the wait of the first for the last.
const maxGroup = 256

// writer owns SQLite's one writing connection. It commits all waiting transactions together,
// because the fsync of the commit is the main cost. While it runs, the next group collects. The
// writer never waits on purpose.
type writer struct {
	conn     *sqliteConn
	bound    logBound
	refused  atomic.Pointer[error] // by the disk; nil: the last write it refused is made good, see well
	numbers  *numbers              // of the running group
	engine   engine
	commits  atomic.Int64
	requests chan *request
	closing  <-chan struct{}
	done     chan struct{}
}

// request is a waiting transaction.
type request struct {
	ctx    context.Context //nolint:containedctx // passed to the writer's goroutine
	fn     func(*Tx) error
	log    func(*sqliteConn) error // instead of fn: runs between transactions
	err    error
	panic  any // value of fn's panic
	answer chan struct{}
}

func newWriter(c *sqliteConn, e engine, closing <-chan struct{}) *writer {
	return &writer{
		conn: c, engine: e, closing: closing,
		requests: make(chan *request, maxGroup), done: make(chan struct{}),
	}
}

// do hands fn to the writer and waits until it is on disk or has failed.
func (w *writer) do(ctx context.Context, fn func(*Tx) error) error {
	return w.ask(ctx, &request{ctx: ctx, fn: fn})
}

func (w *writer) ask(ctx context.Context, r *request) error {
	r.answer = make(chan struct{})
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	select {
	case w.requests <- r:
	case <-w.closing:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for the writer: %w", context.Cause(ctx))
	}
	select {
	case <-r.answer:
	case <-w.done:
		// The writer may have answered just before it ended.
		select {
		case <-r.answer:
		default:
			return ErrClosed
		}
	}
	if r.panic != nil {
		panic(r.panic)
	}
	return r.err
}

func (w *writer) run() {
	defer close(w.done)
	for {
		select {
		case r := <-w.requests:
			w.take(w.gather(r))
		case <-w.closing:
			for { // serve the requests that came before closing
				select {
				case r := <-w.requests:
					w.take(w.gather(r))
				default:
					return
				}
			}
		}
	}
}

func (w *writer) gather(first *request) []*request {
	group := []*request{first}
	for len(group) < maxGroup {
		select {
		case r := <-w.requests:
			group = append(group, r)
		default:
			return group
		}
	}
	return group
}

// take serves a group: first the writes, then requests that need no open transaction.
func (w *writer) take(group []*request) {
	var writes, logs []*request
	for _, r := range group {
		if r.log != nil {
			logs = append(logs, r)
		} else {
			writes = append(writes, r)
		}
	}
	if len(writes) > 0 {
		w.commit(writes)
	}
	for _, r := range logs {
		r.err = r.log(w.conn)
		close(r.answer)
	}
	w.bound.keep(w.conn)
}

// commit runs a group in one SQLite transaction and answers all requests. It first assumes that
// every request succeeds, which is nearly always true. If one fails, all are rolled back and run
// again, each in its own savepoint, so only the failing one is rolled back.
func (w *writer) commit(group []*request) {
	err := w.attempt(group, false)
	if err == nil && len(group) > 1 && failed(group) {
		for _, r := range group {
			r.err = nil
			r.panic = nil
		}
		err = w.attempt(group, true)
	}
	w.noteRefused(err)
	for _, r := range group {
		if err != nil && r.panic == nil && r.err == nil {
			r.err = err
		}
		close(r.answer)
	}
}

func failed(group []*request) bool {
	for _, r := range group {
		if r.err != nil {
			return true
		}
	}
	return false
}

// attempt runs a group. Without savepoints it commits only if all succeed. Its error concerns the
// whole group: nothing is stored.
func (w *writer) attempt(group []*request, savepoints bool) error {
	if err := w.engine.moved(); err != nil {
		return err
	}
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.numbers = &numbers{conn: w.conn, last: map[string]int64{}}
	ready := 0
	for _, r := range group {
		w.serve(r, savepoints)
		// SQLite rolled back the whole transaction: disk full, I/O error.
		if w.conn.GetAutocommit() {
			return fmt.Errorf("the database undid the transaction: %w", r.err)
		}
		if r.err == nil {
			ready++
		} else if !savepoints {
			break
		}
	}
	if ready == 0 || ready < len(group) && !savepoints {
		return w.conn.exec("ROLLBACK")
	}
	err := w.numbers.store()
	if err == nil {
		err = w.sync()
	}
	if err != nil && !w.conn.GetAutocommit() {
		err = errors.Join(err, w.conn.exec("ROLLBACK"))
	}
	return err
}

// sync commits. A commit into a file that was deleted meanwhile is not acknowledged.
func (w *writer) sync() error {
	if err := w.conn.exec("COMMIT"); err != nil {
		return err
	}
	w.commits.Add(1)
	return w.engine.moved()
}

func (w *writer) serve(r *request, savepoint bool) {
	if r.ctx.Err() != nil {
		r.err = fmt.Errorf("wait for the writer: %w", context.Cause(r.ctx))
		return
	}
	if savepoint {
		if r.err = w.conn.exec("SAVEPOINT one"); r.err != nil {
			return
		}
	}
	r.err = w.call(r)
	if !savepoint || w.conn.GetAutocommit() {
		return
	}
	if r.err != nil {
		if err := w.conn.exec("ROLLBACK TO one"); err != nil {
			r.err = errors.Join(r.err, err)
		}
	}
	if err := w.conn.exec("RELEASE one"); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

// call runs fn and passes its panic to the requesting goroutine: one request's bug must not end the
// writer.
func (w *writer) call(r *request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.panic = fmt.Sprintf("%v\n\nin a transaction:\n%s", p, debug.Stack())
			err = errors.New("panic in a transaction")
		}
	}()
	s := &sqliteSession{conn: w.conn, numbers: w.numbers}
	if err := r.fn(&Tx{session: s, engine: w.engine}); err != nil {
		return err
	}
	return s.err
}
