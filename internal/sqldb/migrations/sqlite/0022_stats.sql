-- stats

-- Up to which event and which attempt the numbers below are counted.
CREATE TABLE stats_cursors (
	source TEXT NOT NULL PRIMARY KEY,
	at     INTEGER NOT NULL
) STRICT;
INSERT INTO stats_cursors (source, at) VALUES ('events', 0), ('attempts', 0);

-- What happened to a partner's licenses on a day in UTC, counted from 1970.
-- activated_soon is how many of those sold on the day were activated within seven days.
CREATE TABLE stats_days (
	partner_id     INTEGER NOT NULL,
	day            INTEGER NOT NULL,
	sold           INTEGER NOT NULL,
	activated      INTEGER NOT NULL,
	deactivated    INTEGER NOT NULL,
	refunded       INTEGER NOT NULL,
	activated_soon INTEGER NOT NULL,
	PRIMARY KEY (partner_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX stats_days_day ON stats_days (day);

-- What the attempts of an hour to deliver to a partner met. le_5 is how many were answered
-- within 5 milliseconds, le_10 those above and within 10, and so on.
CREATE TABLE stats_hours (
	partner_id INTEGER NOT NULL,
	hour       INTEGER NOT NULL,
	succeeded  INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	le_5       INTEGER NOT NULL,
	le_10      INTEGER NOT NULL,
	le_20      INTEGER NOT NULL,
	le_35      INTEGER NOT NULL,
	le_50      INTEGER NOT NULL,
	le_75      INTEGER NOT NULL,
	le_100     INTEGER NOT NULL,
	le_150     INTEGER NOT NULL,
	le_200     INTEGER NOT NULL,
	le_300     INTEGER NOT NULL,
	le_500     INTEGER NOT NULL,
	le_750     INTEGER NOT NULL,
	le_1000    INTEGER NOT NULL,
	le_1500    INTEGER NOT NULL,
	le_2000    INTEGER NOT NULL,
	le_3000    INTEGER NOT NULL,
	le_5000    INTEGER NOT NULL,
	le_7500    INTEGER NOT NULL,
	le_10000   INTEGER NOT NULL,
	le_more    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX stats_hours_hour ON stats_hours (hour);

-- The failed attempts of an hour by the status that was answered; 0: none was.
CREATE TABLE stats_failures (
	partner_id INTEGER NOT NULL,
	hour       INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	count      INTEGER NOT NULL,
	first_at   INTEGER NOT NULL,
	last_at    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, hour, status)
) STRICT, WITHOUT ROWID;
CREATE INDEX stats_failures_hour ON stats_failures (hour);
