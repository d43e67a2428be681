-- sqldb

-- That all data is being copied to or from another database, or was moved there.
CREATE TABLE copies (
	id       TEXT NOT NULL PRIMARY KEY, -- the same in both databases
	role     TEXT NOT NULL,
	other    TEXT NOT NULL, -- where the other database is, without its password
	began_at INTEGER NOT NULL,
	moved_at INTEGER NOT NULL
) STRICT;

-- How far each table has come, in the database that the data is copied to.
CREATE TABLE copied_tables (
	name TEXT NOT NULL PRIMARY KEY,
	last TEXT NOT NULL, -- the key of the last row that was copied, in JSON
	rows INTEGER NOT NULL,
	done INTEGER NOT NULL
) STRICT;
