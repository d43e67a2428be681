-- account

-- Raised when the user loses a role or a membership. The console and the portal do not
-- accept sessions that were begun under another number; the shop does.
ALTER TABLE users ADD COLUMN staff_epoch BIGINT NOT NULL DEFAULT 0;
