package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/internal/litefile"
)

// hold takes the lock that only one copy, and on SQLite one service, can have.
func (s *side) hold(ctx context.Context) (err error) {
	if file := s.db.File(); file != "" {
		var lock *sqlite3.Conn
		if lock, err = litefile.Lock(ctx, file); err == nil {
			s.release = lock.Close
		}
	} else {
		s.release, err = holdPostgres(ctx, s.db)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// copyLock is an arbitrary number that no other program is likely to lock.
const copyLock = 0x636f7079 // "copy"

// errPooled means that a pooler is between this program and the database.
var errPooled = errors.New("a copy locks sessions, which a pooler mixes; use the address of the database itself")

func holdPostgres(ctx context.Context, db *sqldb.DB) (release func() error, err error) {
	if pooled, past, err := db.Pooled(ctx); err != nil || pooled && !past {
		return nil, errors.Join(err, errPooled)
	}
	conn, err := db.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	release = func() error { return conn.Close(context.WithoutCancel(ctx)) }
	err = untilAlone(ctx, func() (bool, error) {
		return sqldb.One(ctx, conn, sqldb.Value[bool], `SELECT pg_try_advisory_lock($1)`, int64(copyLock))
	})
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// untilAlone repeats ask for 3 s until it returns true: the server notices with a delay that a
// client has disconnected.
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
	return sqldb.ErrInUse
}

// mark writes a mark and ensures that no one has the database open without having seen it. It
// replaces a mark of an earlier run.
func (s *side) mark(ctx context.Context, m *Mark) error {
	var err error
	if s.db.File() != "" {
		err = s.markFile(ctx, m)
	} else {
		err = markPostgres(ctx, s.db, m)
	}
	if err != nil {
		return fmt.Errorf("mark %s: %w", s.name, err)
	}
	return nil
}

// markFile closes the database, writes the mark while no one else has it open, and opens it again.
func (s *side) markFile(ctx context.Context, m *Mark) error {
	s.url = s.db.File()
	if err := s.db.Close(); err != nil {
		return err
	}
	conn, err := litefile.Settle(ctx, s.url)
	if err != nil {
		return err
	}
	values := make([]string, len(m.row()))
	for i, v := range m.row() {
		values[i] = sqlite3.Quote(v)
	}
	err = conn.Exec(`DELETE FROM copies; INSERT INTO copies (id, role, other, began_at, moved_at)
		VALUES (` + strings.Join(values, ", ") + `); COMMIT`)
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	return s.open(ctx)
}

// markPostgres writes the mark, and removes it again if others have sessions: those may have begun
// before it. Sessions of other roles, such as a metrics reader, are ignored.
func markPostgres(ctx context.Context, db *sqldb.DB, m *Mark) error {
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM copies`)
		tx.Queue(`INSERT INTO copies (id, role, other, began_at, moved_at) VALUES ($1, $2, $3, $4, $5)`, m.row()...)
		return nil
	})
	if err != nil {
		return err
	}
	err = untilAlone(ctx, func() (bool, error) {
		return sqldb.One(ctx, db, sqldb.Value[bool], `SELECT count(*) = 0 FROM pg_stat_activity
			WHERE datname = current_database() AND usename = current_user AND backend_type = 'client backend'
			AND application_name <> $1`, db.SessionName())
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, sqldb.ErrInUse) {
		err = fmt.Errorf("%w: the same user has other sessions on it", err)
	}
	return errors.Join(err, db.Write(context.WithoutCancel(ctx), func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM copies`)
		return nil
	}))
}
