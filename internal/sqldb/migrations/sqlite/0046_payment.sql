-- payment
-- What a buyer is about to pay for: what is sold comes from this row alone.
CREATE TABLE checkouts (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	ref         TEXT NOT NULL UNIQUE, -- what the provider knows it by
	partner_id  INTEGER NOT NULL,
	tier        INTEGER NOT NULL,
	plan_name   TEXT NOT NULL,
	item        TEXT NOT NULL, -- what the provider's page calls it
	amount      INTEGER NOT NULL,
	currency    TEXT NOT NULL,
	paid        INTEGER NOT NULL, -- what was paid in fact
	paid_currency TEXT NOT NULL,
	user_id     INTEGER NOT NULL,
	license_key TEXT NOT NULL, -- of the license whose plan changes; '': a new one
	state       INTEGER NOT NULL,
	session_id  TEXT NOT NULL,
	session_url TEXT NOT NULL,
	intent_id   TEXT NOT NULL,
	purchase_id INTEGER NOT NULL,
	refund_id   INTEGER NOT NULL, -- of the licenses, that the payments make
	unsettled   INTEGER NOT NULL, -- facts wait for the sale
	tries       INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	expires_at  INTEGER NOT NULL,
	paid_at     INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	next_at     INTEGER NOT NULL -- when the provider is asked again; 0: never
) STRICT;
CREATE UNIQUE INDEX checkouts_open ON checkouts (user_id, partner_id, tier, license_key) WHERE state = 1;
CREATE INDEX checkouts_due ON checkouts (next_at) WHERE next_at <> 0;
CREATE INDEX checkouts_intent ON checkouts (intent_id) WHERE intent_id <> '';
CREATE INDEX checkouts_purchase ON checkouts (purchase_id) WHERE purchase_id <> 0;

-- Refunds at the provider, ours and others'.
CREATE TABLE payment_refunds (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	request     TEXT NOT NULL, -- ours: what the provider knows the request by
	provider_id TEXT NOT NULL, -- '' until the provider named it
	checkout_id INTEGER NOT NULL, -- 0: of a payment that sold nothing
	intent_id   TEXT NOT NULL,
	license_key TEXT NOT NULL, -- the license that is refunded as a whole; ''
	amount      INTEGER NOT NULL,
	currency    TEXT NOT NULL,
	status      INTEGER NOT NULL,
	external_id TEXT NOT NULL,
	reason      TEXT NOT NULL,
	failure     TEXT NOT NULL,
	tries       INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	next_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX payment_refunds_provider ON payment_refunds (provider_id) WHERE provider_id <> '';
CREATE UNIQUE INDEX payment_refunds_request ON payment_refunds (request) WHERE request <> '';
CREATE INDEX payment_refunds_checkout ON payment_refunds (checkout_id);
CREATE INDEX payment_refunds_due ON payment_refunds (next_at) WHERE next_at <> 0;

CREATE TABLE payment_disputes (
	provider_id TEXT NOT NULL PRIMARY KEY,
	checkout_id INTEGER NOT NULL,
	amount      INTEGER NOT NULL,
	currency    TEXT NOT NULL,
	status      TEXT NOT NULL,
	held        INTEGER NOT NULL, -- its hold stands
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	next_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_disputes_checkout ON payment_disputes (checkout_id);
CREATE INDEX payment_disputes_due ON payment_disputes (next_at) WHERE next_at <> 0;

-- Events of the provider that were received, so that none is looked up again.
CREATE TABLE payment_events (
	provider_id TEXT NOT NULL PRIMARY KEY,
	created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_events_age ON payment_events (created_at);

-- Objects that are to be retrieved from the provider.
CREATE TABLE payment_lookups (
	object_id  TEXT NOT NULL PRIMARY KEY,
	tries      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	next_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_lookups_due ON payment_lookups (next_at);

-- What needs a person of the marketplace.
CREATE TABLE payment_problems (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	kind        TEXT NOT NULL,
	object_id   TEXT NOT NULL, -- what it is about, at the provider
	checkout_id INTEGER NOT NULL,
	partner_id  INTEGER NOT NULL,
	intent_id   TEXT NOT NULL,
	amount      INTEGER NOT NULL,
	currency    TEXT NOT NULL,
	created_at  INTEGER NOT NULL,
	done_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX payment_problems_once ON payment_problems (kind, object_id);
CREATE INDEX payment_problems_open ON payment_problems (created_at) WHERE done_at = 0;
CREATE INDEX payment_problems_intent ON payment_problems (intent_id) WHERE done_at = 0 AND intent_id <> '';

-- Up to when the provider's events were listed.
CREATE TABLE payment_listing (
	id        INTEGER NOT NULL PRIMARY KEY,
	listed_at INTEGER NOT NULL
) STRICT;
INSERT INTO payment_listing (id, listed_at) VALUES (1, 0);
