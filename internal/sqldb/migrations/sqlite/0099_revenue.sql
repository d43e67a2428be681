-- ledger
-- kind: expanding

-- Changes of the parts of a sale, in its currency, for reports. A settlement does not change them.
ALTER TABLE ledger_postings ADD COLUMN share INTEGER NOT NULL DEFAULT 0; -- the partner's, less refunds
ALTER TABLE ledger_postings ADD COLUMN borne INTEGER NOT NULL DEFAULT 0; -- fees that the partner bears
ALTER TABLE ledger_postings ADD COLUMN undivided INTEGER NOT NULL DEFAULT 0; -- while there are no terms

-- revenue

-- The posting up to which the figures below are counted. There is one row.
CREATE TABLE revenue_cursor (
	id INTEGER NOT NULL PRIMARY KEY,
	at INTEGER NOT NULL
);
INSERT INTO revenue_cursor (id, at) VALUES (1, 0);

-- The sums of a plan on a day in UTC, counted from 1970, and in each block of 8 days. Rows of the partner 0
-- and the tier 0 are the sums of all partners on a day.
CREATE TABLE revenue_sums (
	partner_id INTEGER NOT NULL,
	days       INTEGER NOT NULL, -- 1 or 8
	day        INTEGER NOT NULL, -- the first one
	tier       INTEGER NOT NULL,
	currency   TEXT NOT NULL,
	sales      INTEGER NOT NULL, -- their number
	revenue    INTEGER NOT NULL, -- paid by buyers
	direct     INTEGER NOT NULL, -- of revenue less refunds: collected by the partner
	refunds    INTEGER NOT NULL, -- returned to buyers
	fees       INTEGER NOT NULL, -- taken by the provider, in the currency of the settlement
	borne      INTEGER NOT NULL, -- fees that the partner bears, in the currency of the sale
	share      INTEGER NOT NULL, -- the partner's share
	undivided  INTEGER NOT NULL, -- of sales of the day: not divided yet
	PRIMARY KEY (partner_id, days, day, tier, currency)
) STRICT, WITHOUT ROWID;
