-- backups
-- kind: expanding

-- When the newest known backup was begun, in the only row.
CREATE TABLE last_backup (
	id      INTEGER PRIMARY KEY CHECK (id = 1),
	made_at INTEGER NOT NULL
) STRICT;
