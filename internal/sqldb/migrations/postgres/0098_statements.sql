-- statement
-- kind: expanding

-- Statements of partners, one per month and currency. Rows are never changed or deleted.
CREATE TABLE statements (
	partner_id    BIGINT NOT NULL,
	number        BIGINT NOT NULL, -- 1, 2, 3 … of the partner
	currency      TEXT NOT NULL,
	month         BIGINT NOT NULL, -- 12 × year + month of the year - 1
	begins_at     BIGINT NOT NULL,
	ends_at       BIGINT NOT NULL,
	first_posting BIGINT NOT NULL, -- the range of ids of its postings; it may be empty
	last_posting  BIGINT NOT NULL,
	opening       BIGINT NOT NULL, -- owed to the partner at the beginning
	sales         BIGINT NOT NULL, -- this and the following: changes of the owed amount
	settled       BIGINT NOT NULL,
	refunds       BIGINT NOT NULL,
	disputes      BIGINT NOT NULL,
	fees          BIGINT NOT NULL,
	adjustments   BIGINT NOT NULL,
	payouts       BIGINT NOT NULL,
	closing       BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	PRIMARY KEY (partner_id, number)
);
CREATE UNIQUE INDEX statements_month ON statements (partner_id, currency, month);

-- The closed months of each partner.
CREATE TABLE statement_months (
	partner_id   BIGINT NOT NULL PRIMARY KEY,
	month        BIGINT NOT NULL, -- the last closed one, as in statements
	ended_at     BIGINT NOT NULL,
	last_posting BIGINT NOT NULL
);
