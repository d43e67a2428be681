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

-- How often an open event was refused, since when, and whether it was refused although
-- the endpoint had taken another event since the first refusal. A refused event that
-- holds back a newer one of its license ends as superseded (state 4).
ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN refused_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN refused_alone INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbox_refused ON outbox (refused_since) WHERE state = 1 AND refused_alone = TRUE;
CREATE INDEX outbox_refusing ON outbox (partner_id) WHERE state = 1 AND refusals > 0;
DROP INDEX outbox_exhausted;
CREATE INDEX outbox_given_up ON outbox (partner_id, created_at) WHERE state > 2;

-- When the endpoint last took an event, kept while an event that it refused is open.
ALTER TABLE endpoints ADD COLUMN last_taken_at INTEGER NOT NULL DEFAULT 0;

-- outage

-- How many of the events given up (exhausted) were superseded.
ALTER TABLE outages ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
