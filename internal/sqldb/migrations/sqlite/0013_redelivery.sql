-- webhook

-- A redelivery of a partner's events of a span of time, worked off in batches. Those up
-- to (at, event_id) are done. Each partner has one that is not finished, at most.
CREATE TABLE replays (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id  INTEGER NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
	from_at     INTEGER NOT NULL,
	to_at       INTEGER NOT NULL,
	only_failed INTEGER NOT NULL,
	at          INTEGER NOT NULL,
	event_id    INTEGER NOT NULL,
	count       INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	finished_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX replays_running ON replays (partner_id) WHERE finished_at = 0;
CREATE INDEX replays_partner ON replays (partner_id, id);

-- Events that were redelivered, and whose attempts the pruning has yet to look at.
CREATE TABLE redelivered (
	event_id INTEGER NOT NULL PRIMARY KEY
) STRICT;
