-- license
-- Who holds a license: the operator, or a dispute. licenses.held is the reason of the first.
CREATE TABLE license_holds (
	license_id BIGINT NOT NULL,
	cause      TEXT NOT NULL, -- operator, or dispute: and its id
	reason     BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (license_id, cause)
);

INSERT INTO license_holds (license_id, cause, reason, created_at)
SELECT id, 'operator', held, updated_at FROM licenses WHERE held <> 0;
