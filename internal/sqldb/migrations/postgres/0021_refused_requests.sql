-- requestlog

-- What numbers a partner's entries: last all of them, calls those of refused_calls.
CREATE TABLE refused_counters (
	partner_id BIGINT NOT NULL PRIMARY KEY,
	last       BIGINT NOT NULL,
	calls      BIGINT NOT NULL
);

-- The newest refused calls of a partner. There are so many slots for each: the next call
-- takes that of the oldest one.
CREATE TABLE refused_calls (
	partner_id  BIGINT NOT NULL,
	slot        BIGINT NOT NULL,
	seq         BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	method      TEXT NOT NULL,
	path        TEXT NOT NULL,
	status      BIGINT NOT NULL,
	code        TEXT NOT NULL,
	cause       TEXT NOT NULL,
	message     TEXT NOT NULL,
	request_id  TEXT NOT NULL,
	license_key TEXT NOT NULL,
	PRIMARY KEY (partner_id, slot)
);
CREATE INDEX refused_calls_time ON refused_calls (partner_id, at, seq);
CREATE INDEX refused_calls_age ON refused_calls (at);

-- Refused calls that are counted and not listed one by one: those that nobody has proven
-- to come from the partner, and those beyond a rate limit.
CREATE TABLE refused_groups (
	partner_id  BIGINT NOT NULL,
	day         BIGINT NOT NULL,
	proven      BOOLEAN NOT NULL,
	method      TEXT NOT NULL,
	path        TEXT NOT NULL,
	status      BIGINT NOT NULL,
	code        TEXT NOT NULL,
	cause       TEXT NOT NULL,
	seq         BIGINT NOT NULL,
	first_at    BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	count       BIGINT NOT NULL,
	message     TEXT NOT NULL,
	request_id  TEXT NOT NULL,
	license_key TEXT NOT NULL,
	PRIMARY KEY (partner_id, day, proven, method, path, status, code, cause)
);
CREATE INDEX refused_groups_time ON refused_groups (partner_id, at, seq);
CREATE INDEX refused_groups_age ON refused_groups (at);

-- How many calls of a partner were answered and refused in an hour, and how many of the
-- refused ones could not be stored. hour counts from 1970.
CREATE TABLE request_counts (
	partner_id BIGINT NOT NULL,
	hour       BIGINT NOT NULL,
	answered   BIGINT NOT NULL,
	refused    BIGINT NOT NULL,
	dropped    BIGINT NOT NULL,
	PRIMARY KEY (partner_id, hour)
);
CREATE INDEX request_counts_age ON request_counts (hour);
