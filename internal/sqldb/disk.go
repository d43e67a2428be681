package sqldb

// Disk is the space for the database's files.
type Disk struct {
	Free, Total int64 // bytes
}

// Disk reports the space on the file system of the database. It is unknown for PostgreSQL, which
// has its files elsewhere, and on systems that do not report it.
func (db *DB) Disk() (Disk, bool) { return db.engine.disk() }

// DiskAt reports the space on the file system of a folder or file.
func DiskAt(path string) (Disk, bool) { return diskOf(path) }

func (p *postgres) disk() (Disk, bool) { return Disk{}, false }

func (l *sqlite) disk() (Disk, bool) { return diskOf(l.path) }
