package sqldb

// Disk is the space for the database's files.
type Disk struct {
	Free, Total int64 // bytes
}

// Disk reports how much space the file system of the database has. It is not known of
// PostgreSQL, whose files are elsewhere, and where the system does not tell.
func (db *DB) Disk() (Disk, bool) { return db.engine.disk() }

func (p *postgres) disk() (Disk, bool) { return Disk{}, false }

func (l *sqlite) disk() (Disk, bool) { return diskOf(l.path) }
