-- partner

-- external_id is the operator's own number of the partner, by which a repeated
-- creation is recognised; content is the hash of what was asked for then, answer what
-- was answered, without the secrets.
ALTER TABLE partners ADD COLUMN external_id TEXT NOT NULL DEFAULT '';
ALTER TABLE partners ADD COLUMN content TEXT NOT NULL DEFAULT '';
ALTER TABLE partners ADD COLUMN answer TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX partners_external ON partners (external_id) WHERE external_id <> '';

-- Since when nothing is sold for the partner and nothing sent to it, and why.
ALTER TABLE partners ADD COLUMN paused_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partners ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';

-- The same fact in the row that every writer of the partner's licenses locks: what is
-- read there is never older than the lock.
ALTER TABLE partner_counters ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;

-- webhook

-- What operators ask of an endpoint: when it last took a delivery, to within seconds,
-- and what it last failed with. A row appears with its first attempt.
ALTER TABLE endpoints ADD COLUMN last_success_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN last_error_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
