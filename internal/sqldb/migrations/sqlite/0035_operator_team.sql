-- invitation

-- The marketplace's own team invites people, too: partner_id is 0 then, so it refers to
-- no partner any more. Rows are removed a month after they expired: there are few.
ALTER TABLE invitations RENAME TO invitations_of_partners;
DROP INDEX invitations_open;
DROP INDEX invitations_partner;
DROP INDEX invitations_email;
DROP INDEX invitations_expired;
CREATE TABLE invitations (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL,
	email      TEXT NOT NULL,
	email_key  TEXT NOT NULL,
	role       TEXT NOT NULL,
	hash       TEXT NOT NULL UNIQUE,
	invited_by INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL
) STRICT;
INSERT INTO invitations (id, partner_id, email, email_key, role, hash, invited_by, created_at, expires_at, ended_at)
	SELECT id, partner_id, email, email_key, role, hash, invited_by, created_at, expires_at, ended_at FROM invitations_of_partners;
DROP TABLE invitations_of_partners;
CREATE UNIQUE INDEX invitations_open ON invitations (partner_id, email_key) WHERE ended_at = 0;
CREATE INDEX invitations_partner ON invitations (partner_id, created_at);
CREATE INDEX invitations_email ON invitations (email_key);
CREATE INDEX invitations_expired ON invitations (expires_at);

-- account

-- One row, which is locked by whoever changes the team of operators. version is another
-- whenever somebody's role was changed: open pages look at it.
CREATE TABLE operator_team (
	id      INTEGER PRIMARY KEY,
	version INTEGER NOT NULL
) STRICT;
INSERT INTO operator_team (id, version) VALUES (1, 1);
