-- account

-- What an operator may do: admin, support, sales or viewer; '' for everybody else. The
-- column operator says only that there is a role, for nodes of the version before.
-- operator_since is when they were given their first one.
ALTER TABLE users ADD COLUMN operator_role TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN operator_since BIGINT NOT NULL DEFAULT 0;
UPDATE users SET operator_role = 'admin', operator_since = updated_at WHERE operator;
CREATE INDEX users_operators ON users (id) WHERE operator_role <> '';
