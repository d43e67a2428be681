-- account
-- kind: expanding

CREATE INDEX users_guest ON users (guest_email_key) WHERE guest_email_key <> '';
CREATE INDEX users_merged ON users (merged_into) WHERE merged_into <> 0;
