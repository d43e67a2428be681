package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Role is what a database is in a copy.
type Role string

// The roles.
const (
	roleSource Role = "source" // it is being copied
	roleMoved  Role = "moved"  // its data is elsewhere now
	roleTarget Role = "target" // it is half a copy
)

// Mark says that a database is not to be used, since its data is being copied, or was:
// two services with the same data would both send webhooks and mails.
type Mark struct {
	ID      string // of the copy, the same in both databases
	Role    Role
	Other   string // where the other database is
	BeganAt time.Time
	MovedAt time.Time
}

// Error says what happened to the database, and what to do.
func (m *Mark) Error() string {
	switch m.Role {
	case roleMoved:
		return fmt.Sprintf("its data was moved to %s at %s, and both would send webhooks and mails; set db to that one. "+
			"To move the data back, copy it into a new database: claviger migrate copy", m.Other, m.MovedAt.Format(time.RFC3339))
	case roleTarget:
		return fmt.Sprintf("it is half a copy of %s; repeat claviger migrate copy, which goes on where it ended, or remove this database", m.Other)
	default:
		return fmt.Sprintf("it is being copied to %s; repeat claviger migrate copy, which goes on where it ended, "+
			"or use this database again after claviger migrate copy --give-up", m.Other)
	}
}

// Marked returns why a database is not to be used; nil: nothing is in the way.
func (db *DB) Marked(ctx context.Context) (*Mark, error) {
	made, err := db.engine.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which migrations were applied: %w", err)
	}
	if !made[marksSince] {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	m, err := One(ctx, db, func(r *Row, m *Mark) error {
		return r.Scan(&m.ID, &m.Role, &m.Other, &m.BeganAt, &m.MovedAt)
	}, `SELECT id, role, other, began_at, moved_at FROM copies LIMIT 1`)
	switch {
	case errors.Is(err, ErrNone):
		return nil, nil //nolint:nilnil // nothing is in the way
	case err != nil:
		return nil, fmt.Errorf("read whether the database was copied: %w", err)
	}
	return &m, nil
}

// marksSince is the migration that brought marks.
const marksSince = "0054_copies"

const markRow = `INSERT INTO copies (id, role, other, began_at, moved_at) VALUES ($1, $2, $3, $4, $5)`

func (m *Mark) args() []any { return []any{m.ID, m.Role, m.Other, m.BeganAt, m.MovedAt} }

// copySide is one of the two databases of a copy.
type copySide struct {
	url, name string
	options   Options
	db        *DB
	release   func() error // of its lock
}

func (s *copySide) open(ctx context.Context) (err error) {
	s.db, err = Open(ctx, s.url, s.options)
	return err
}

func (s *copySide) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.release != nil {
		errs = append(errs, s.release())
	}
	return errors.Join(errs...)
}

func (s *copySide) refused(m *Mark) error { return fmt.Errorf("%s cannot be used: %w", s.name, m) }

// hold takes the lock by which a copy, and on SQLite a service, is alone.
func (s *copySide) hold(ctx context.Context) (err error) {
	if s.release, err = s.db.engine.holdForCopy(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// checkStopped refuses a database that others work on.
func (s *copySide) checkStopped(ctx context.Context, running func(context.Context, *DB) (int, error)) error {
	ours, err := s.db.Migrated(ctx)
	if err != nil || !ours {
		return err
	}
	n, err := running(ctx, s.db)
	if err == nil && n > 0 {
		err = fmt.Errorf("%s: %w (%d nodes run; one that was killed counts for some seconds more)", s.name, ErrInUse, n)
	}
	return err
}

// mark writes a mark, and makes sure that nobody has the database open who has not seen
// it. A mark of an earlier run is replaced.
func (s *copySide) mark(ctx context.Context, m *Mark) error {
	if err := s.db.engine.markAlone(ctx, m); err != nil {
		return fmt.Errorf("mark %s: %w", s.name, err)
	}
	if l, ok := s.db.engine.(*sqlite); ok { // it was closed for that
		s.url = l.path
		return s.open(ctx)
	}
	return nil
}

func (l *sqlite) holdForCopy(ctx context.Context) (func() error, error) {
	conn, err := lockExclusive(ctx, l.path)
	if err != nil {
		return nil, err
	}
	return conn.Close, nil
}

// markAlone closes the database, and writes the mark while nobody else has it open. It
// stays closed.
func (l *sqlite) markAlone(ctx context.Context, m *Mark) error {
	if err := l.close(); err != nil {
		return err
	}
	old, err := settle(ctx, l.path)
	if err != nil {
		return err
	}
	defer old.close()
	if old.conn == nil {
		return &NotWholeError{l.path, "cannot be read any more"}
	}
	for _, st := range []*statement{{sql: `DELETE FROM copies`}, {sql: markRow, args: m.args()}, {sql: "COMMIT"}} {
		if err := old.conn.run(st); err != nil {
			return err
		}
	}
	return nil
}

// copyLock is an arbitrary number that no other program is likely to lock.
const copyLock = 0x636f7079 // "copy"

func (p *postgres) holdForCopy(ctx context.Context) (func() error, error) {
	conn, err := p.reserve(ctx)
	if err != nil {
		return nil, err
	}
	release := func() error { return conn.Close(context.WithoutCancel(ctx)) }
	err = untilAlone(ctx, func() (bool, error) {
		return One(ctx, conn, Value[bool], `SELECT pg_try_advisory_lock($1)`, int64(copyLock))
	})
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// untilAlone asks until the answer is yes, for a while: the server notices a little later
// that a client has left.
func untilAlone(ctx context.Context, ask func() (bool, error)) error {
	const tries, pause = 30, 100 * time.Millisecond
	for range tries {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return ErrInUse
}

// markAlone writes the mark, and removes it again if there are sessions of others: they
// may have begun before it. Those of other roles, such as of a program that reads
// metrics, are left alone.
func (p *postgres) markAlone(ctx context.Context, m *Mark) error {
	db := &DB{engine: p}
	err := db.Write(ctx, func(tx *Tx) error {
		tx.Queue(`DELETE FROM copies`)
		tx.Queue(markRow, m.args()...)
		return nil
	})
	if err != nil {
		return err
	}
	err = untilAlone(ctx, func() (bool, error) {
		return One(ctx, db, Value[bool], `SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()
			AND usename = current_user AND backend_type = 'client backend' AND application_name <> $1`, p.sessionName())
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%w: the same user has other sessions on it", err)
	}
	return errors.Join(err, db.Write(context.WithoutCancel(ctx), func(tx *Tx) error {
		tx.Queue(`DELETE FROM copies`)
		return nil
	}))
}
