-- stats

-- Up to which event and which attempt the numbers below are counted.
CREATE TABLE stats_cursors (
	source TEXT NOT NULL PRIMARY KEY,
	at     BIGINT NOT NULL
);
INSERT INTO stats_cursors (source, at) VALUES ('events', 0), ('attempts', 0);

-- What happened to a partner's licenses on a day in UTC, counted from 1970.
-- activated_soon is how many of those sold on the day were activated within seven days.
CREATE TABLE stats_days (
	partner_id     BIGINT NOT NULL,
	day            BIGINT NOT NULL,
	sold           BIGINT NOT NULL,
	activated      BIGINT NOT NULL,
	deactivated    BIGINT NOT NULL,
	refunded       BIGINT NOT NULL,
	activated_soon BIGINT NOT NULL,
	PRIMARY KEY (partner_id, day)
);
CREATE INDEX stats_days_day ON stats_days (day);

-- What the attempts of an hour to deliver to a partner met. le_5 is how many were answered
-- within 5 milliseconds, le_10 those above and within 10, and so on.
CREATE TABLE stats_hours (
	partner_id BIGINT NOT NULL,
	hour       BIGINT NOT NULL,
	succeeded  BIGINT NOT NULL,
	failed     BIGINT NOT NULL,
	le_5       BIGINT NOT NULL,
	le_10      BIGINT NOT NULL,
	le_20      BIGINT NOT NULL,
	le_35      BIGINT NOT NULL,
	le_50      BIGINT NOT NULL,
	le_75      BIGINT NOT NULL,
	le_100     BIGINT NOT NULL,
	le_150     BIGINT NOT NULL,
	le_200     BIGINT NOT NULL,
	le_300     BIGINT NOT NULL,
	le_500     BIGINT NOT NULL,
	le_750     BIGINT NOT NULL,
	le_1000    BIGINT NOT NULL,
	le_1500    BIGINT NOT NULL,
	le_2000    BIGINT NOT NULL,
	le_3000    BIGINT NOT NULL,
	le_5000    BIGINT NOT NULL,
	le_7500    BIGINT NOT NULL,
	le_10000   BIGINT NOT NULL,
	le_more    BIGINT NOT NULL,
	PRIMARY KEY (partner_id, hour)
);
CREATE INDEX stats_hours_hour ON stats_hours (hour);

-- The failed attempts of an hour by the status that was answered; 0: none was.
CREATE TABLE stats_failures (
	partner_id BIGINT NOT NULL,
	hour       BIGINT NOT NULL,
	status     BIGINT NOT NULL,
	count      BIGINT NOT NULL,
	first_at   BIGINT NOT NULL,
	last_at    BIGINT NOT NULL,
	PRIMARY KEY (partner_id, hour, status)
);
CREATE INDEX stats_failures_hour ON stats_failures (hour);
