-- oauth

-- What the token answer names as scope, because it differs from what was asked for;
-- '' when it does not.
ALTER TABLE oauth_grants ADD COLUMN named_scope TEXT NOT NULL DEFAULT '';

-- account

-- How many wrong passwords were tried for an account since when. key_hash stands for
-- the address that was typed, whether anybody has it or not.
CREATE TABLE password_tries (
	key_hash TEXT NOT NULL PRIMARY KEY,
	since    INTEGER NOT NULL,
	count    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX password_tries_since ON password_tries (since);
