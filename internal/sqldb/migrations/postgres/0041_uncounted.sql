-- webhook
-- Attempts that came before their time, which the schedule does not count.
ALTER TABLE outbox ADD COLUMN uncounted BIGINT NOT NULL DEFAULT 0;
