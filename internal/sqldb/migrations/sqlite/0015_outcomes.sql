-- idempotency

-- One store for requests that can be repeated: it has what a request did, and no
-- longer what was answered. Requests with an external id are in it too and never
-- expire (expires_at 0).
DROP INDEX idempotency_keys_about;
ALTER TABLE idempotency_keys DROP COLUMN about;
ALTER TABLE idempotency_keys RENAME COLUMN answer TO outcome;
ALTER TABLE idempotency_keys ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
UPDATE idempotency_keys SET expires_at = created_at + 2592000000000000;
DROP INDEX idempotency_keys_age;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at) WHERE expires_at <> 0;

-- What was answered becomes what was done: the members of a license and of a partner
-- have the same names in both. That of a new partner needs no change.
UPDATE idempotency_keys SET outcome = '{"purchase":' || json_extract(outcome, '$.purchase.id') || '}' WHERE outcome LIKE '{"purchase":{%';
UPDATE idempotency_keys SET outcome = '{"refund":' || json_extract(outcome, '$.refund.id') || ',"licenses":' || (outcome -> '$.licenses.items') || '}' WHERE outcome LIKE '{"refund":{%';
UPDATE idempotency_keys SET outcome = '{"licenses":[' || outcome || ']}' WHERE outcome LIKE '{"license_key":%';

-- Plan changes and refunds whose answer was not stored, such as those of the shop, have
-- nothing that says how they left their licenses.
INSERT INTO idempotency_keys (scope, key, request, outcome, created_at, expires_at)
	SELECT 'external:plan_change:' || partner_id, external_id, content,
		CASE answer WHEN '' THEN '{}' ELSE '{"licenses":[' || answer || ']}' END, created_at, 0
	FROM purchases WHERE kind = 2 AND external_id <> '';
INSERT INTO idempotency_keys (scope, key, request, outcome, created_at, expires_at)
	SELECT 'external:refund:' || partner_id, external_id, content,
		'{"refund":' || id || CASE answer WHEN '' THEN '' ELSE ',"licenses":' || (answer -> '$.licenses.items') END || '}', created_at, 0
	FROM refunds WHERE external_id <> '';
INSERT INTO idempotency_keys (scope, key, request, outcome, created_at, expires_at)
	SELECT 'external:partner', external_id, content, answer, created_at, 0
	FROM partners WHERE external_id <> '' AND answer <> '';

-- partner

ALTER TABLE partners DROP COLUMN content;
ALTER TABLE partners DROP COLUMN answer;

-- license

-- content stays with purchases: a repeated purchase is recognised by its own row.
ALTER TABLE purchases DROP COLUMN answer;
ALTER TABLE refunds DROP COLUMN content;
ALTER TABLE refunds DROP COLUMN answer;
