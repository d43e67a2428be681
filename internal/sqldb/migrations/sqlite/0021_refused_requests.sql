-- requestlog

-- What numbers a partner's entries: last all of them, calls those of refused_calls.
CREATE TABLE refused_counters (
	partner_id INTEGER NOT NULL PRIMARY KEY,
	last       INTEGER NOT NULL,
	calls      INTEGER NOT NULL
) STRICT;

-- The newest refused calls of a partner. There are so many slots for each: the next call
-- takes that of the oldest one.
CREATE TABLE refused_calls (
	partner_id  INTEGER NOT NULL,
	slot        INTEGER NOT NULL,
	seq         INTEGER NOT NULL,
	at          INTEGER NOT NULL,
	method      TEXT NOT NULL,
	path        TEXT NOT NULL,
	status      INTEGER NOT NULL,
	code        TEXT NOT NULL,
	cause       TEXT NOT NULL,
	message     TEXT NOT NULL,
	request_id  TEXT NOT NULL,
	license_key TEXT NOT NULL,
	PRIMARY KEY (partner_id, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX refused_calls_time ON refused_calls (partner_id, at, seq);
CREATE INDEX refused_calls_age ON refused_calls (at);

-- Refused calls that are counted and not listed one by one: those that nobody has proven
-- to come from the partner, and those beyond a rate limit.
CREATE TABLE refused_groups (
	partner_id  INTEGER NOT NULL,
	day         INTEGER NOT NULL,
	proven      INTEGER NOT NULL,
	method      TEXT NOT NULL,
	path        TEXT NOT NULL,
	status      INTEGER NOT NULL,
	code        TEXT NOT NULL,
	cause       TEXT NOT NULL,
	seq         INTEGER NOT NULL,
	first_at    INTEGER NOT NULL,
	at          INTEGER NOT NULL,
	count       INTEGER NOT NULL,
	message     TEXT NOT NULL,
	request_id  TEXT NOT NULL,
	license_key TEXT NOT NULL,
	PRIMARY KEY (partner_id, day, proven, method, path, status, code, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX refused_groups_time ON refused_groups (partner_id, at, seq);
CREATE INDEX refused_groups_age ON refused_groups (at);

-- How many calls of a partner were answered and refused in an hour, and how many of the
-- refused ones could not be stored. hour counts from 1970.
CREATE TABLE request_counts (
	partner_id INTEGER NOT NULL,
	hour       INTEGER NOT NULL,
	answered   INTEGER NOT NULL,
	refused    INTEGER NOT NULL,
	dropped    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_counts_age ON request_counts (hour);
