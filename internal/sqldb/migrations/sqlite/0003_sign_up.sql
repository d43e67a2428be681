-- account

-- When a visitor last asked for a mail to somebody who signed up and has neither
-- confirmed that nor been named by anybody else since: 0 for everybody else.
ALTER TABLE users ADD COLUMN pending_since INTEGER NOT NULL DEFAULT 0;
CREATE INDEX users_pending ON users (pending_since) WHERE pending_since <> 0;
