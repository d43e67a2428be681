package sqldb

import (
	"context"
	"time"
)

// SetFull sets whether the disk was full; the next check is made now.
func (db *DB) SetFull(full bool) {
	db.writes.full.Store(full)
	db.writes.at = time.Time{}
}

// Full reports whether the disk was full.
func (db *DB) Full() bool { return db.writes.full.Load() }

// SetPing sets the ping interval of listeners.
func (db *DB) SetPing(every time.Duration) {
	if p, ok := db.engine.(*postgres); ok {
		p.ping = every
	}
}

// SetDisk replaces the free space of an SQLite database's disk, as the writer sees it.
func (db *DB) SetDisk(free int64) {
	l, ok := db.engine.(*sqlite)
	if !ok {
		return
	}
	_ = l.writer.ask(context.Background(), &request{ctx: context.Background(), log: func(c *sqliteConn) error {
		l.writer.bound.disk = func() (Disk, bool) { return Disk{Free: free}, true }
		return l.writer.bound.measure(c)
	}})
}

// LogLimit is logLimit.
func LogLimit(free int64) int { return logLimit(free) }
