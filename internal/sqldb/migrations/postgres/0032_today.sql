-- job

-- The last run of each background job. failed_since is 0, and error is empty, while its
-- runs end well; succeeded_at is when one last did.
CREATE TABLE job_runs (
	job          TEXT NOT NULL PRIMARY KEY,
	node         TEXT NOT NULL,
	began_at     BIGINT NOT NULL,
	took_us      BIGINT NOT NULL,
	next_at      BIGINT NOT NULL,
	succeeded_at BIGINT NOT NULL,
	failed_since BIGINT NOT NULL,
	error        TEXT NOT NULL
);

-- mail

-- Whether what the mail says may stay when it is given up, so that it can be sent again:
-- it has no link that signs anybody in.
ALTER TABLE mails ADD COLUMN lasting BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX mails_given_up ON mails (id) WHERE state = 3;

-- profile

-- Until when the certificate of the webhook URL is valid, as last seen; 0: none was seen.
ALTER TABLE profiles ADD COLUMN certificate_until BIGINT NOT NULL DEFAULT 0;

-- webhook

-- What failed, of all partners. A delivery that is taken at once never has an entry.
CREATE INDEX outbox_all_failing ON outbox (event_id) WHERE state = 1 AND attempts > 0;
CREATE INDEX outbox_all_given_up ON outbox (event_id) WHERE state > 2;
CREATE INDEX endpoints_failing ON endpoints (failing_since) WHERE failing_since <> 0;
