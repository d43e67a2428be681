-- webhook

-- What is to be delivered, apart from what is sent: a row is here while its
-- delivery is open (state 1) or exhausted (3), and gone when the partner took it.
-- It is a fifth of the delivery, whose row nobody changes any more. Half of each
-- page stays free, so that a lease rewrites its row in place and touches no index.
CREATE TABLE outbox (
	event_id    BIGINT NOT NULL PRIMARY KEY,
	partner_id  BIGINT NOT NULL,
	license_id  BIGINT NOT NULL,
	state       BIGINT NOT NULL,
	attempts    BIGINT NOT NULL,
	due_at      BIGINT NOT NULL,
	node        TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, node, lease_until, created_at, updated_at)
	SELECT event_id, partner_id, license_id, state, attempts, due_at, node, lease_until, created_at, updated_at FROM deliveries WHERE state <> 2;
CREATE INDEX outbox_due ON outbox (partner_id, due_at, event_id) WHERE state = 1;
CREATE INDEX outbox_open ON outbox (license_id, event_id) WHERE state = 1;
CREATE INDEX outbox_exhausted ON outbox (partner_id, created_at) WHERE state = 3;

-- Six columns fewer, in one pass over the table.
CREATE TABLE deliveries_kept (
	event_id    BIGINT NOT NULL PRIMARY KEY,
	partner_id  BIGINT NOT NULL,
	license_id  BIGINT NOT NULL,
	license_key TEXT NOT NULL,
	kind        BIGINT NOT NULL,
	body        TEXT NOT NULL,
	created_at  BIGINT NOT NULL
);
INSERT INTO deliveries_kept (event_id, partner_id, license_id, license_key, kind, body, created_at)
	SELECT event_id, partner_id, license_id, license_key, kind, body, created_at FROM deliveries ORDER BY event_id;
DROP TABLE deliveries;
ALTER TABLE deliveries_kept RENAME TO deliveries;
CREATE INDEX deliveries_made ON deliveries (partner_id, created_at);
-- The newest event of a license goes out again after one that is redelivered.
CREATE INDEX deliveries_license ON deliveries (license_id, event_id);
