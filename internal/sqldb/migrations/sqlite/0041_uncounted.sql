-- webhook
-- Attempts that came before their time, which the schedule does not count.
ALTER TABLE outbox ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;
