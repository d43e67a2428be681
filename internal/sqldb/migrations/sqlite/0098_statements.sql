-- statement
-- kind: expanding

-- Statements of partners, one per month and currency. Rows are never changed or deleted.
CREATE TABLE statements (
	partner_id    INTEGER NOT NULL,
	number        INTEGER NOT NULL, -- 1, 2, 3 … of the partner
	currency      TEXT NOT NULL,
	month         INTEGER NOT NULL, -- 12 × year + month of the year - 1
	begins_at     INTEGER NOT NULL,
	ends_at       INTEGER NOT NULL,
	first_posting INTEGER NOT NULL, -- the range of ids of its postings; it may be empty
	last_posting  INTEGER NOT NULL,
	opening       INTEGER NOT NULL, -- owed to the partner at the beginning
	sales         INTEGER NOT NULL, -- this and the following: changes of the owed amount
	settled       INTEGER NOT NULL,
	refunds       INTEGER NOT NULL,
	disputes      INTEGER NOT NULL,
	fees          INTEGER NOT NULL,
	adjustments   INTEGER NOT NULL,
	payouts       INTEGER NOT NULL,
	closing       INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX statements_month ON statements (partner_id, currency, month);

-- The closed months of each partner.
CREATE TABLE statement_months (
	partner_id   INTEGER NOT NULL PRIMARY KEY,
	month        INTEGER NOT NULL, -- the last closed one, as in statements
	ended_at     INTEGER NOT NULL,
	last_posting INTEGER NOT NULL
) STRICT;
