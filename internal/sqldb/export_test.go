package sqldb

import (
	"context"
	"slices"
	"time"
)

// MigrateBefore applies the migrations whose names sort before name, so that a
// test can store rows as an older program did.
func (db *DB) MigrateBefore(ctx context.Context, name string) error {
	all, err := load(db.engine.folder())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m migration) bool { return m.name >= name })
	_, err = db.engine.migrate(ctx, all)
	return err
}

// SetPing makes listeners ping themselves that often.
func (db *DB) SetPing(every time.Duration) {
	if p, ok := db.engine.(*postgres); ok {
		p.ping = every
	}
}
