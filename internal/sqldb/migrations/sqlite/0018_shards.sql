-- webhook

-- The owner of a partner's shard sends for it (see cluster), so nothing in the outbox
-- says any more who holds a delivery. generation grows with each redelivery: the answer
-- to an attempt under an earlier one is recorded and changes nothing else. not_before is
-- until when the endpoint asked us to wait (Retry-After).
DROP TABLE leases;
ALTER TABLE outbox DROP COLUMN node;
ALTER TABLE outbox DROP COLUMN lease_until;
ALTER TABLE outbox ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;

-- changed grows with each act that the owner must hear of, url_version with each that
-- makes earlier answers say nothing of the endpoint. closed: no URL, or paused. draining:
-- what waits for a later time is sent at a ramp, 1 but for Retry-After, 2 all of it.
ALTER TABLE endpoints ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN url_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
UPDATE endpoints SET last_taken_at = last_success_at WHERE last_success_at > last_taken_at;
ALTER TABLE endpoints DROP COLUMN last_success_at;
