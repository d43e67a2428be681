-- sealing

-- What client secrets and the names of users at partners are hashed with. It is written
-- once, sealed, and never changes, whatever becomes of the secret key.
CREATE TABLE peppers (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	sealed     TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
