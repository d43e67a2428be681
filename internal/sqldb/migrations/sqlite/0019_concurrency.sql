-- partner

-- How many webhooks are on their way to the partner at a time, at most; 0: as many as the
-- installation allows.
ALTER TABLE partners ADD COLUMN webhook_concurrency INTEGER NOT NULL DEFAULT 0;
