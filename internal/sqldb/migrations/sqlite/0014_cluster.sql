-- cluster

-- The running nodes, and which of them acts for a shard of partners. Both stay empty
-- here: one process owns everything, by a lock on a file.
CREATE TABLE nodes (
	node     TEXT NOT NULL PRIMARY KEY,
	sessions TEXT NOT NULL,
	until    INTEGER NOT NULL,
	leaving  INTEGER NOT NULL
) STRICT;
CREATE TABLE shards (
	shard INTEGER NOT NULL PRIMARY KEY,
	node  TEXT NOT NULL,
	epoch INTEGER NOT NULL
) STRICT;
