-- account
-- kind: expanding

CREATE INDEX CONCURRENTLY IF NOT EXISTS users_guest ON users (guest_email_key) WHERE guest_email_key <> '';
CREATE INDEX CONCURRENTLY IF NOT EXISTS users_merged ON users (merged_into) WHERE merged_into <> 0;
