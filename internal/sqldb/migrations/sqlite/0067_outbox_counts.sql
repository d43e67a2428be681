-- webhook

-- How many deliveries are in each state, and when the oldest of them was made, as counted
-- by a job at counted_at. Scrapes of the metrics read these rows instead of the outbox.
CREATE TABLE outbox_counts (
	state      TEXT NOT NULL PRIMARY KEY,
	deliveries INTEGER NOT NULL,
	oldest_at  INTEGER NOT NULL,
	counted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
