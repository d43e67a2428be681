-- profile

-- When a buyer's first sign-in was exchanged for tokens; 0: not yet.
ALTER TABLE profiles ADD COLUMN first_sign_in_at BIGINT NOT NULL DEFAULT 0;

-- The last check of each URL that was begun on a page. transcript has the steps so far,
-- as JSON; problem says why a check failed.
CREATE TABLE url_checks (
	partner_id BIGINT NOT NULL,
	field      TEXT NOT NULL,
	url        TEXT NOT NULL,
	state      TEXT NOT NULL,
	problem    TEXT NOT NULL,
	transcript TEXT NOT NULL,
	started_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (partner_id, field)
);
