-- ledger
-- kind: expanding

-- The moment from which sales count in the balances; 0: the ledger has not begun. There is one row.
CREATE TABLE ledger_state (
	id       INTEGER NOT NULL PRIMARY KEY,
	began_at INTEGER NOT NULL
);
INSERT INTO ledger_state (id, began_at) VALUES (1, 0);

-- license

-- Whether the sale is posted. Nodes of 1.0.0 do not set it.
ALTER TABLE purchases ADD COLUMN posted INTEGER NOT NULL DEFAULT 0;
-- Who took the money; '': a node of 1.0.0 sold it.
ALTER TABLE purchases ADD COLUMN collected_by TEXT NOT NULL DEFAULT '';
-- The later one of created_at and reversed_at, once it is posted. Nodes of 1.0.0 do not set it.
ALTER TABLE refunds ADD COLUMN posted_at INTEGER NOT NULL DEFAULT 0;

-- payment

-- The updated_at that is posted. Nodes of 1.0.0 move only updated_at: rows in which the two differ are
-- posted again.
ALTER TABLE payment_refunds ADD COLUMN posted_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN posted_at INTEGER NOT NULL DEFAULT 0;
