-- job

-- The last run of each background job. failed_since is 0, and error is empty, while its
-- runs end well; succeeded_at is when one last did.
CREATE TABLE job_runs (
	job          TEXT NOT NULL PRIMARY KEY,
	node         TEXT NOT NULL,
	began_at     INTEGER NOT NULL,
	took_us      INTEGER NOT NULL,
	next_at      INTEGER NOT NULL,
	succeeded_at INTEGER NOT NULL,
	failed_since INTEGER NOT NULL,
	error        TEXT NOT NULL
) STRICT;

-- mail

-- Whether what the mail says may stay when it is given up, so that it can be sent again:
-- it has no link that signs anybody in.
ALTER TABLE mails ADD COLUMN lasting INTEGER NOT NULL DEFAULT 0;
CREATE INDEX mails_given_up ON mails (id) WHERE state = 3;

-- profile

-- Until when the certificate of the webhook URL is valid, as last seen; 0: none was seen.
ALTER TABLE profiles ADD COLUMN certificate_until INTEGER NOT NULL DEFAULT 0;

-- webhook

-- What failed, of all partners. A delivery that is taken at once never has an entry.
CREATE INDEX outbox_all_failing ON outbox (event_id) WHERE state = 1 AND attempts > 0;
CREATE INDEX outbox_all_given_up ON outbox (event_id) WHERE state > 2;
CREATE INDEX endpoints_failing ON endpoints (failing_since) WHERE failing_since <> 0;
