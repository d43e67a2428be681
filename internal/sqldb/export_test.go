package sqldb

import "time"

// SetPing sets the ping interval of listeners.
func (db *DB) SetPing(every time.Duration) {
	if p, ok := db.engine.(*postgres); ok {
		p.ping = every
	}
}
