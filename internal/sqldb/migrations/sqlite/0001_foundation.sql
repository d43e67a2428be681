-- Times are Unix nanoseconds (UTC), 0 meaning "not"; booleans are 0 and 1.

-- What sequences are to PostgreSQL; there is one writer, so a row is enough.
CREATE TABLE sequences (
	name TEXT NOT NULL PRIMARY KEY,
	last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sequences (name, last) VALUES ('event_ids', 0), ('license_ids', 0), ('purchase_ids', 0);

-- partner

CREATE TABLE partners (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT NOT NULL,
	brand      TEXT NOT NULL,
	client_id  TEXT NOT NULL UNIQUE,
	strict     INTEGER NOT NULL,
	single_key INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;

-- Locked first by every writer of a partner's licenses: it numbers them and
-- their events, and clock is the time of its latest change.
CREATE TABLE partner_counters (
	partner_id INTEGER NOT NULL PRIMARY KEY REFERENCES partners (id),
	turns      INTEGER NOT NULL,
	licenses   INTEGER NOT NULL,
	events     INTEGER NOT NULL,
	clock      INTEGER NOT NULL
) STRICT;

CREATE TABLE partner_secrets (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL REFERENCES partners (id),
	kind       TEXT NOT NULL,
	hash       TEXT NOT NULL,
	sealed     TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX partner_secrets_hash ON partner_secrets (kind, hash) WHERE hash <> '';
CREATE INDEX partner_secrets_partner ON partner_secrets (partner_id, kind, id);

CREATE TABLE plans (
	partner_id   INTEGER NOT NULL REFERENCES partners (id),
	tier         INTEGER NOT NULL,
	name         TEXT NOT NULL,
	price_cents  INTEGER NOT NULL,
	currency     TEXT NOT NULL,
	checkout_url TEXT NOT NULL,
	external_ref TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	updated_at   INTEGER NOT NULL,
	PRIMARY KEY (partner_id, tier)
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
	partner_id INTEGER NOT NULL REFERENCES partners (id),
	user_id    INTEGER NOT NULL,
	role       TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (partner_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_user ON members (user_id);

-- account

CREATE TABLE users (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	email         TEXT NOT NULL,
	email_key     TEXT NOT NULL,
	name          TEXT NOT NULL,
	external_id   TEXT NOT NULL,
	operator      INTEGER NOT NULL,
	password_hash TEXT NOT NULL,
	proven_at     INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	erased_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX users_email ON users (email_key) WHERE email_key <> '';
CREATE UNIQUE INDEX users_external ON users (external_id) WHERE external_id <> '';

CREATE TABLE login_links (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id    INTEGER NOT NULL REFERENCES users (id),
	hash       TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	used_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX login_links_user ON login_links (user_id);

CREATE TABLE operator_tokens (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT NOT NULL,
	hash       TEXT NOT NULL UNIQUE,
	scopes     TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL
) STRICT;

-- profile

CREATE TABLE profiles (
	partner_id         INTEGER NOT NULL PRIMARY KEY REFERENCES partners (id),
	webhook_url        TEXT NOT NULL,
	webhook_valid_at   INTEGER NOT NULL,
	redirect_url       TEXT NOT NULL,
	redirect_valid_at  INTEGER NOT NULL,
	redirect_epoch     INTEGER NOT NULL,
	created_at         INTEGER NOT NULL,
	updated_at         INTEGER NOT NULL
) STRICT;

CREATE TABLE contacts (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL REFERENCES partners (id),
	name       TEXT NOT NULL,
	email      TEXT NOT NULL,
	email_key  TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX contacts_email ON contacts (partner_id, email_key);

-- license

-- The tables that every sale writes refer to one another without foreign keys: what
-- they name was drawn or locked in the same transaction, nothing is ever deleted
-- from them, and the checks were a third of a purchase's work on PostgreSQL.

-- In the order of the lists, so that SQLite reads a page of one as one run.
CREATE TABLE licenses (
	partner_id    INTEGER NOT NULL,
	ord           INTEGER NOT NULL,
	id            INTEGER NOT NULL UNIQUE,
	license_key   TEXT NOT NULL UNIQUE,
	redemption_id TEXT NOT NULL UNIQUE,
	status        INTEGER NOT NULL,
	tier          INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	owner_id      INTEGER NOT NULL,
	redeemed      INTEGER NOT NULL,
	released      INTEGER NOT NULL,
	held          INTEGER NOT NULL,
	erased        INTEGER NOT NULL,
	epoch         INTEGER NOT NULL,
	event_ms      INTEGER NOT NULL,
	PRIMARY KEY (partner_id, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX licenses_status ON licenses (partner_id, status, ord);
-- A license that never changed has no entry: those made since are found by ordinal.
CREATE INDEX licenses_updated ON licenses (partner_id, updated_at, ord, status, created_at) WHERE updated_at <> created_at;
CREATE INDEX licenses_owner ON licenses (owner_id) WHERE owner_id <> 0;

CREATE TABLE license_blocks (
	partner_id INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	block      INTEGER NOT NULL,
	n          INTEGER NOT NULL,
	PRIMARY KEY (partner_id, status, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE purchases (
	id           INTEGER PRIMARY KEY,
	partner_id   INTEGER NOT NULL,
	kind         INTEGER NOT NULL,
	external_id  TEXT NOT NULL,
	tier         INTEGER NOT NULL,
	quantity     INTEGER NOT NULL,
	amount_cents INTEGER NOT NULL,
	currency     TEXT NOT NULL,
	user_id      INTEGER NOT NULL,
	content      TEXT NOT NULL,
	answer       TEXT NOT NULL,
	created_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX purchases_external ON purchases (external_id, partner_id, kind) WHERE external_id <> '';
CREATE INDEX purchases_partner ON purchases (partner_id, id);

-- One link of a license's chain of purchases; refund_id 0: not refunded.
CREATE TABLE purchase_links (
	license_id  INTEGER NOT NULL,
	seq         INTEGER NOT NULL,
	purchase_id INTEGER NOT NULL,
	tier        INTEGER NOT NULL,
	refund_id   INTEGER NOT NULL,
	PRIMARY KEY (license_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX purchase_links_purchase ON purchase_links (purchase_id, license_id);

CREATE TABLE refunds (
	id          INTEGER PRIMARY KEY,
	partner_id  INTEGER NOT NULL,
	external_id TEXT NOT NULL,
	reason      TEXT NOT NULL,
	content     TEXT NOT NULL,
	answer      TEXT NOT NULL,
	created_at  INTEGER NOT NULL,
	reversed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX refunds_external ON refunds (partner_id, external_id) WHERE external_id <> '';

-- A link that a refund closed, also when it was reversed since.
CREATE TABLE refund_items (
	refund_id   INTEGER NOT NULL,
	license_id  INTEGER NOT NULL,
	seq         INTEGER NOT NULL,
	PRIMARY KEY (refund_id, license_id, seq)
) STRICT, WITHOUT ROWID;

-- event

-- status is the present status of the event's license: it moves with it.
CREATE TABLE events (
	partner_id    INTEGER NOT NULL,
	ord           INTEGER NOT NULL,
	id            INTEGER NOT NULL UNIQUE,
	license_id    INTEGER NOT NULL,
	license_key   TEXT NOT NULL,
	kind          INTEGER NOT NULL,
	tier          INTEGER NOT NULL,
	previous_tier INTEGER NOT NULL,
	reason        TEXT NOT NULL,
	event_ms      INTEGER NOT NULL,
	status        INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_status ON events (partner_id, status, ord);
-- The first event of every license is of kind 1: those are found in the list itself.
CREATE INDEX events_kind ON events (partner_id, kind, ord) WHERE kind <> 1;
CREATE INDEX events_license ON events (license_id, id);

CREATE TABLE event_blocks (
	partner_id INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	block      INTEGER NOT NULL,
	n          INTEGER NOT NULL,
	PRIMARY KEY (partner_id, status, block)
) STRICT, WITHOUT ROWID;

-- webhook

CREATE TABLE deliveries (
	event_id    INTEGER NOT NULL PRIMARY KEY,
	partner_id  INTEGER NOT NULL,
	license_id  INTEGER NOT NULL,
	license_key TEXT NOT NULL,
	kind        INTEGER NOT NULL,
	body        TEXT NOT NULL,
	state       INTEGER NOT NULL,
	attempts    INTEGER NOT NULL,
	due_at      INTEGER NOT NULL,
	node        TEXT NOT NULL,
	lease_until INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_due ON deliveries (partner_id, due_at) WHERE state = 1;
CREATE INDEX deliveries_open ON deliveries (license_id, event_id) WHERE state = 1;
CREATE INDEX deliveries_exhausted ON deliveries (partner_id, created_at) WHERE state = 3;
CREATE INDEX deliveries_made ON deliveries (partner_id, created_at);

-- How a partner's endpoint fares; a row appears with its first failure.
CREATE TABLE endpoints (
	partner_id    INTEGER NOT NULL PRIMARY KEY REFERENCES partners (id),
	failing_since INTEGER NOT NULL,
	failures      INTEGER NOT NULL,
	parked_at     INTEGER NOT NULL,
	probe_at      INTEGER NOT NULL,
	probed        INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL
) STRICT;

-- What was sent is the body of the delivery, the same on every attempt.
CREATE TABLE webhook_responses (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	event_id        INTEGER NOT NULL,
	license_id      INTEGER NOT NULL,
	request_header  TEXT NOT NULL,
	response_status INTEGER NOT NULL,
	response_body   TEXT NOT NULL,
	response_time   INTEGER NOT NULL,
	url             TEXT NOT NULL,
	success         INTEGER NOT NULL,
	created_at      INTEGER NOT NULL,
	updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_responses_event ON webhook_responses (event_id, id);
CREATE INDEX webhook_responses_license ON webhook_responses (license_id, id);

-- outage

-- A partner that could not be reached: from its first failure to its recovery.
-- tellings is how often its contacts were told that it lasts; exhausted how many
-- events were given up, of which exhausted_told were told. Nothing is left to
-- tell of one that is settled.
CREATE TABLE outages (
	id                INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id        INTEGER NOT NULL REFERENCES partners (id),
	opened_at         INTEGER NOT NULL,
	cause             TEXT NOT NULL,
	told_at           INTEGER NOT NULL,
	tellings          INTEGER NOT NULL,
	exhausted         INTEGER NOT NULL,
	exhausted_told    INTEGER NOT NULL,
	exhausted_told_at INTEGER NOT NULL,
	closed_at         INTEGER NOT NULL,
	settled_at        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outages_open ON outages (partner_id) WHERE closed_at = 0;
CREATE INDEX outages_unsettled ON outages (id) WHERE settled_at = 0;
CREATE INDEX outages_partner ON outages (partner_id, id);

-- mail

-- cause is what a message is about; the same cause is never put in twice.
CREATE TABLE mails (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	cause      TEXT NOT NULL UNIQUE,
	thread     TEXT NOT NULL,
	recipient  TEXT NOT NULL,
	subject    TEXT NOT NULL,
	body       TEXT NOT NULL,
	html       TEXT NOT NULL,
	state      INTEGER NOT NULL,
	attempts   INTEGER NOT NULL,
	due_at     INTEGER NOT NULL,
	lease_until INTEGER NOT NULL,
	error      TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	sent_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX mails_due ON mails (due_at) WHERE state = 1;

-- idempotency

CREATE TABLE idempotency_keys (
	scope      TEXT NOT NULL,
	key        TEXT NOT NULL,
	request    TEXT NOT NULL,
	answer     TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- audit

CREATE TABLE audit_entries (
	id         INTEGER PRIMARY KEY,
	at         INTEGER NOT NULL,
	actor_kind TEXT NOT NULL,
	actor_id   INTEGER NOT NULL,
	actor_name TEXT NOT NULL,
	action     TEXT NOT NULL,
	subject    TEXT NOT NULL,
	before     TEXT NOT NULL,
	after      TEXT NOT NULL
) STRICT;
CREATE INDEX audit_entries_subject ON audit_entries (subject, id);

-- devserver

CREATE TABLE dev_seeds (
	id   INTEGER PRIMARY KEY,
	seed TEXT NOT NULL
) STRICT;
