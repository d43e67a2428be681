-- oauth

-- What the token answer names as scope, because it differs from what was asked for;
-- '' when it does not.
ALTER TABLE oauth_grants ADD COLUMN named_scope TEXT NOT NULL DEFAULT '';
