package sqldb

import "time"

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
