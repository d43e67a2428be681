-- payout
-- kind: expanding

-- The bank accounts that partners entered for their payouts. The newest row of a partner counts. Rows are
-- not changed; a new secret key seals them again.
CREATE TABLE payout_details (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL,
	user_id    INTEGER NOT NULL, -- the author
	sealed     TEXT NOT NULL, -- '': removed
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX payout_details_partner ON payout_details (partner_id, id);

CREATE TABLE payout_runs (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	currency   TEXT NOT NULL,
	state      TEXT NOT NULL, -- prepared, paying, paid or failed
	lines      INTEGER NOT NULL, -- their number
	amount     INTEGER NOT NULL, -- the sum of the lines
	left_out   TEXT NOT NULL, -- the partners that were left out, and why, as JSON
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX payout_runs_prepared ON payout_runs (currency) WHERE state = 'prepared';

CREATE TABLE payout_lines (
	run_id         INTEGER NOT NULL,
	partner_id     INTEGER NOT NULL,
	currency       TEXT NOT NULL,
	amount         INTEGER NOT NULL,
	state          TEXT NOT NULL, -- reserved, sent, paid, failed or released
	reference      TEXT NOT NULL, -- ours, for the bank; it names the postings
	details_id     INTEGER NOT NULL, -- the row of payout_details that counted when it was reserved
	bank_reference TEXT NOT NULL, -- of the bank, once it is paid
	reason         TEXT NOT NULL, -- why it failed or was released
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	PRIMARY KEY (run_id, partner_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX payout_lines_partner ON payout_lines (partner_id, run_id);
