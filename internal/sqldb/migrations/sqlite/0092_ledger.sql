-- ledger
-- kind: expanding

-- Terms divide the sales of a partner from begins_at on. Rows are never changed.
CREATE TABLE ledger_terms (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL,
	begins_at  INTEGER NOT NULL,
	share_bp   INTEGER NOT NULL, -- the partner's share, in basis points
	plans      TEXT NOT NULL, -- other shares by tier, as JSON
	bears      TEXT NOT NULL, -- who bears the fees of the provider
	days       INTEGER NOT NULL, -- until money becomes payable; -1: the refund_days of the product
	smallest   TEXT NOT NULL, -- the smallest payout by currency, as JSON
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_terms_partner ON ledger_terms (partner_id, begins_at, id);

-- Postings are never changed or deleted.
CREATE TABLE ledger_postings (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id  INTEGER NOT NULL,
	kind        TEXT NOT NULL,
	source      TEXT NOT NULL, -- the fact; one posting of a kind
	purchase_id INTEGER NOT NULL, -- 0: none
	tier        INTEGER NOT NULL, -- of the purchase
	gross       INTEGER NOT NULL, -- change of the buyers' payments
	currency    TEXT NOT NULL,
	lines       TEXT NOT NULL, -- JSON; they sum to zero in each currency
	reason      TEXT NOT NULL, -- of an adjustment
	at          INTEGER NOT NULL, -- when it happened
	created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX ledger_postings_source ON ledger_postings (source, kind);
CREATE INDEX ledger_postings_partner ON ledger_postings (partner_id, id);
CREATE INDEX ledger_postings_purchase ON ledger_postings (partner_id, purchase_id, id);

-- The posted state of each sale.
CREATE TABLE ledger_sales (
	purchase_id  INTEGER NOT NULL PRIMARY KEY,
	partner_id   INTEGER NOT NULL,
	tier         INTEGER NOT NULL,
	gross        INTEGER NOT NULL,
	currency     TEXT NOT NULL,
	collected    TEXT NOT NULL, -- provider, marketplace or partner
	back         INTEGER NOT NULL, -- refunded, or lost in a dispute
	disputed     INTEGER NOT NULL,
	share_bp     INTEGER NOT NULL, -- -1: not divided
	bears        TEXT NOT NULL,
	payable      INTEGER NOT NULL,
	settled      INTEGER NOT NULL, -- the value of back when it was settled elsewhere; -1: it is not settled
	sold_at      INTEGER NOT NULL,
	due_at       INTEGER NOT NULL, -- it becomes payable at this time
	look_at      INTEGER NOT NULL, -- next check whether it is payable; 0: none
	fee_look_at  INTEGER NOT NULL, -- next request for the fee of the payment; 0: none
	turns        INTEGER NOT NULL -- number of postings that have no source outside the ledger
) STRICT;
CREATE INDEX ledger_sales_due ON ledger_sales (look_at) WHERE look_at <> 0;
CREATE INDEX ledger_sales_fee ON ledger_sales (fee_look_at) WHERE fee_look_at <> 0;
CREATE INDEX ledger_sales_undivided ON ledger_sales (partner_id, purchase_id) WHERE share_bp = -1;
CREATE INDEX ledger_sales_partner ON ledger_sales (partner_id, purchase_id);

-- The refunds and disputes that are posted, as the provider names them.
CREATE TABLE ledger_facts (
	purchase_id INTEGER NOT NULL,
	source      TEXT NOT NULL,
	state       INTEGER NOT NULL,
	amount      INTEGER NOT NULL,
	turns       INTEGER NOT NULL, -- postings about it
	PRIMARY KEY (purchase_id, source)
) STRICT, WITHOUT ROWID;

-- Fees of the provider for payments and disputes. Rows are never changed.
CREATE TABLE ledger_fees (
	purchase_id INTEGER NOT NULL,
	source      TEXT NOT NULL, -- as the provider names it
	amount      INTEGER NOT NULL, -- negative: returned
	currency    TEXT NOT NULL, -- of the settlement
	num         INTEGER NOT NULL, -- one unit of it is num / den of the currency of the sale
	den         INTEGER NOT NULL,
	dispute     INTEGER NOT NULL, -- it is for a dispute
	at          INTEGER NOT NULL,
	PRIMARY KEY (purchase_id, source)
) STRICT, WITHOUT ROWID;

-- The sums of the lines.
CREATE TABLE ledger_balances (
	partner_id INTEGER NOT NULL,
	account    TEXT NOT NULL,
	currency   TEXT NOT NULL,
	amount     INTEGER NOT NULL,
	PRIMARY KEY (partner_id, account, currency)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_balances_undivided ON ledger_balances (partner_id) WHERE account = 'undivided';
CREATE INDEX ledger_balances_payable ON ledger_balances (currency, partner_id) WHERE account = 'payable';
