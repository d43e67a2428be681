package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Role is the part that a database has in a copy.
type Role string

// The roles.
const (
	roleSource Role = "source" // being copied
	roleMoved  Role = "moved"  // its data is elsewhere now
	roleTarget Role = "target" // half a copy
)

// Mark means that a database must not be used because its data is being copied or was copied. Two
// services with the same data would both send webhooks and emails.
type Mark struct {
	ID      string // of the copy, the same in both databases
	Role    Role
	Other   string // where the other database is
	BeganAt time.Time
	MovedAt time.Time
}

// Error describes the state of the database and the next step.
func (m *Mark) Error() string {
	switch m.Role {
	case roleMoved:
		return fmt.Sprintf(
			"its data was moved to %s at %s, and both would send webhooks and mails; set db to that one. "+
				"To move the data back, copy it into a new database: claviger migrate copy",
			m.Other,
			m.MovedAt.Format(time.RFC3339),
		)
	case roleTarget:
		return fmt.Sprintf(
			"it is half a copy of %s; repeat claviger migrate copy, which continues where it ended, or remove this "+
				"database",
			m.Other,
		)
	default:
		return fmt.Sprintf("it is being copied to %s; repeat claviger migrate copy, which continues where it ended, "+
			"or use this database again after claviger migrate copy --give-up", m.Other)
	}
}

// Marked returns the reason not to use a database, or nil.
func Marked(ctx context.Context, db *sqldb.DB) (*Mark, error) {
	pending, err := db.Pending(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Contains(pending, marksSince) {
		return nil, nil //nolint:nilnil // no mark
	}
	m, err := sqldb.One(ctx, db, func(r *sqldb.Row, m *Mark) error {
		return r.Scan(&m.ID, &m.Role, &m.Other, &m.BeganAt, &m.MovedAt)
	}, `SELECT id, role, other, began_at, moved_at FROM copies LIMIT 1`)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return nil, nil //nolint:nilnil // no mark
	case err != nil:
		return nil, fmt.Errorf("read whether the database was copied: %w", err)
	}
	return &m, nil
}

// marksSince is the migration that added marks.
const marksSince = "0054_copies"

// row returns the columns of a new mark, as both databases store them.
func (m *Mark) row() []any { return []any{m.ID, string(m.Role), m.Other, m.BeganAt.UnixNano(), 0} }

// side is one of the two databases of a copy.
type side struct {
	url, name string
	options   sqldb.Options
	db        *sqldb.DB
	release   func() error // of its lock
}

func (s *side) open(ctx context.Context) (err error) {
	s.db, err = sqldb.Open(ctx, s.url, s.options)
	return err
}

func (s *side) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.release != nil {
		errs = append(errs, s.release())
	}
	return errors.Join(errs...)
}

func (s *side) refused(m *Mark) error { return fmt.Errorf("%s cannot be used: %w", s.name, m) }

// checkStopped rejects a database that other processes use.
func (s *side) checkStopped(ctx context.Context, running func(context.Context, *sqldb.DB) (int, error)) error {
	ours, err := s.db.Migrated(ctx)
	if err != nil || !ours {
		return err
	}
	n, err := running(ctx, s.db)
	if err == nil && n > 0 {
		err = fmt.Errorf(
			"%s: %w (%d nodes run; one that was killed counts for some seconds more)", s.name, sqldb.ErrInUse, n,
		)
	}
	return err
}
