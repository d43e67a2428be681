-- partner

-- A partner may have several API keys, told apart by name. tail is the end of a secret,
-- for people to recognise it; secrets from before have none. last_used_at is right to the
-- minute.
ALTER TABLE partner_secrets ADD COLUMN name TEXT NOT NULL DEFAULT 'main';
ALTER TABLE partner_secrets ADD COLUMN tail TEXT NOT NULL DEFAULT '';
ALTER TABLE partner_secrets ADD COLUMN last_used_at INTEGER NOT NULL DEFAULT 0;

-- ended_at is when an invitation was accepted, withdrawn or replaced by another; 0: it is
-- open, until expires_at.
CREATE TABLE invitations (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL REFERENCES partners (id),
	email      TEXT NOT NULL,
	email_key  TEXT NOT NULL,
	role       TEXT NOT NULL,
	hash       TEXT NOT NULL UNIQUE,
	invited_by INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX invitations_open ON invitations (partner_id, email_key) WHERE ended_at = 0;
CREATE INDEX invitations_partner ON invitations (partner_id, created_at);
CREATE INDEX invitations_email ON invitations (email_key);
CREATE INDEX invitations_expired ON invitations (expires_at);

-- audit

-- partner_id is the partner that an entry is about, acting_for the one for whom a person
-- acted as a member; 0: none.
ALTER TABLE audit_entries ADD COLUMN partner_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_entries ADD COLUMN acting_for INTEGER NOT NULL DEFAULT 0;
UPDATE audit_entries SET partner_id = partners.id FROM partners WHERE subject = 'partner:' || partners.id;
UPDATE audit_entries SET partner_id = plans.partner_id FROM plans
	WHERE subject = 'partner:' || plans.partner_id || '/plan:' || plans.tier;
CREATE INDEX audit_entries_partner ON audit_entries (partner_id, id) WHERE partner_id <> 0;
