-- bulk

-- Acts on many licenses, deliveries or partners. The rows are fixed when a job is
-- prepared; started_at is when somebody confirmed it, 0: nobody has.
CREATE TABLE bulk_jobs (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	act         TEXT NOT NULL,
	reason      TEXT NOT NULL,
	selected    TEXT NOT NULL,
	actor_kind  TEXT NOT NULL,
	actor_id    INTEGER NOT NULL,
	actor_name  TEXT NOT NULL,
	session     TEXT NOT NULL,
	client      TEXT NOT NULL,
	total       INTEGER NOT NULL,
	succeeded   INTEGER NOT NULL,
	refused     INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	started_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	paused_at   INTEGER NOT NULL,
	stopped     TEXT NOT NULL,
	finished_at INTEGER NOT NULL
) STRICT;
CREATE INDEX bulk_jobs_open ON bulk_jobs (updated_at, id) WHERE started_at <> 0 AND finished_at = 0 AND paused_at = 0;

-- result: 0 not done yet, 1 done, 2 refused, with code and message.
CREATE TABLE bulk_rows (
	job_id     INTEGER NOT NULL REFERENCES bulk_jobs (id) ON DELETE CASCADE,
	position   INTEGER NOT NULL,
	subject_id INTEGER NOT NULL,
	subject    TEXT NOT NULL,
	partner_id INTEGER NOT NULL,
	was        TEXT NOT NULL,
	result     INTEGER NOT NULL,
	code       TEXT NOT NULL,
	message    TEXT NOT NULL,
	done_at    INTEGER NOT NULL,
	PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX bulk_rows_open ON bulk_rows (job_id, position) WHERE result = 0;

-- stats

-- How many of the licenses that were sold on a day in UTC, counted from 1970, are
-- refunded now: every purchase in their chains is.
CREATE TABLE stats_refunds (
	partner_id INTEGER NOT NULL,
	day        INTEGER NOT NULL,
	refunded   INTEGER NOT NULL,
	PRIMARY KEY (partner_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX stats_refunds_day ON stats_refunds (day);
INSERT INTO stats_refunds (partner_id, day, refunded)
	SELECT l.partner_id, l.created_at / 86400000000000, count(*)
	FROM (SELECT DISTINCT license_id FROM refund_items) AS i JOIN licenses AS l ON l.id = i.license_id
	WHERE NOT EXISTS (SELECT 1 FROM purchase_links AS k WHERE k.license_id = l.id AND k.refund_id = 0)
	GROUP BY l.partner_id, l.created_at / 86400000000000;
