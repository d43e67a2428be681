-- partner
-- kind: expanding

-- For how many days after a payment its buyer may ask for the money back; 0: none.
ALTER TABLE products ADD COLUMN refund_days INTEGER NOT NULL DEFAULT 0;

-- payment

-- Before when the buyer may ask for the money back; 0: never. It is set when the payment is sold.
ALTER TABLE checkouts ADD COLUMN refund_until INTEGER NOT NULL DEFAULT 0;

-- refundrequest

-- Requests of buyers to have their money back.
CREATE TABLE refund_requests (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	license_id    INTEGER NOT NULL,
	license_key   TEXT NOT NULL,
	redemption_id TEXT NOT NULL,
	partner_id    INTEGER NOT NULL,
	user_id       INTEGER NOT NULL, -- the buyer
	state         INTEGER NOT NULL, -- 1 requested, 2 refunded, 3 declined
	reason        TEXT NOT NULL, -- of the buyer, or ''
	answer        TEXT NOT NULL, -- why it was declined, for the buyer
	failure       TEXT NOT NULL, -- why the last refund failed, or ''
	asked_at      INTEGER NOT NULL, -- since when a refund is under way; 0: a person decides
	decided_at    INTEGER NOT NULL, -- when it was refunded or declined; 0: it is open
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX refund_requests_open ON refund_requests (license_id) WHERE state = 1;
CREATE INDEX refund_requests_license ON refund_requests (license_id, id);
CREATE INDEX refund_requests_partner ON refund_requests (partner_id, id);
CREATE INDEX refund_requests_user ON refund_requests (user_id, id);
CREATE INDEX refund_requests_state ON refund_requests (state, id);

-- The payments that a request covers, and what was left of each.
CREATE TABLE refund_request_payments (
	request_id  INTEGER NOT NULL,
	checkout_id INTEGER NOT NULL,
	purchase_id INTEGER NOT NULL,
	item        TEXT NOT NULL,
	amount      INTEGER NOT NULL,
	currency    TEXT NOT NULL,
	PRIMARY KEY (request_id, checkout_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX refund_request_payments_purchase ON refund_request_payments (purchase_id, request_id);
