-- license
-- Who holds a license: the operator, or a dispute. licenses.held is the reason of the first.
CREATE TABLE license_holds (
	license_id INTEGER NOT NULL,
	cause      TEXT NOT NULL, -- operator, or dispute: and its id
	reason     INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (license_id, cause)
) STRICT, WITHOUT ROWID;

INSERT INTO license_holds (license_id, cause, reason, created_at)
SELECT id, 'operator', held, updated_at FROM licenses WHERE held <> 0;
