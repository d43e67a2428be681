-- webhook

-- How long the parts of an attempt took, in microseconds; 0: not measured, or not needed
-- because a connection was open already. generation is that of the outbox under which
-- the attempt was made.
ALTER TABLE webhook_responses ADD COLUMN dns_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_responses ADD COLUMN connect_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_responses ADD COLUMN tls_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_responses ADD COLUMN first_byte_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_responses ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- Who had an event sent, under which generation, and as part of which job (0: none).
-- scheduled_at is when it would have been sent anyway; 0: it would not.
CREATE TABLE manual_sends (
	generation   INTEGER NOT NULL,
	event_id     INTEGER NOT NULL,
	actor_kind   TEXT NOT NULL,
	actor_id     INTEGER NOT NULL,
	job_id       INTEGER NOT NULL,
	scheduled_at INTEGER NOT NULL,
	PRIMARY KEY (generation, event_id)
) STRICT, WITHOUT ROWID;

-- Open deliveries that failed at least once: few, so that one that is taken at once
-- never has an entry.
CREATE INDEX outbox_failing ON outbox (partner_id, created_at, event_id) WHERE state = 1 AND attempts > 0;

-- replay

-- Jobs that send many events again, worked off in batches, oldest first: those up to
-- (at, event_id) are done. They were in replays, which stays, empty, for nodes that
-- still run an earlier version. Each partner has one that is not finished, at most.
CREATE TABLE replay_jobs (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id  INTEGER NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
	outcome     TEXT NOT NULL,
	kind        INTEGER NOT NULL,
	codes       TEXT NOT NULL,
	license_id  INTEGER NOT NULL,
	license_key TEXT NOT NULL,
	from_at     INTEGER NOT NULL,
	to_at       INTEGER NOT NULL,
	rate        INTEGER NOT NULL,
	actor_kind  TEXT NOT NULL,
	actor_id    INTEGER NOT NULL,
	expected    INTEGER NOT NULL,
	at          INTEGER NOT NULL,
	event_id    INTEGER NOT NULL,
	looked      INTEGER NOT NULL,
	count       INTEGER NOT NULL,
	skipped     INTEGER NOT NULL,
	next_at     INTEGER NOT NULL,
	paused_at   INTEGER NOT NULL,
	stopped     TEXT NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	finished_at INTEGER NOT NULL
) STRICT;
INSERT INTO replay_jobs (id, partner_id, outcome, kind, codes, license_id, license_key, from_at, to_at, rate, actor_kind, actor_id, expected,
		at, event_id, looked, count, skipped, next_at, paused_at, stopped, created_at, updated_at, finished_at)
	SELECT id, partner_id, CASE WHEN only_failed = 1 THEN 'failed' ELSE '' END, 0, '', 0, '', from_at, to_at, 0, 'system', 0, 0,
		at, event_id, count, count, 0, 0, 0, '', created_at, updated_at, finished_at FROM replays;
DELETE FROM replays;
CREATE UNIQUE INDEX replay_jobs_running ON replay_jobs (partner_id) WHERE finished_at = 0;
CREATE INDEX replay_jobs_partner ON replay_jobs (partner_id, id);

-- license

-- The last four characters of a key: what people read to one another.
CREATE INDEX licenses_key_end ON licenses (partner_id, substr(license_key, 33), ord);
