-- partner

-- The list of partners by name.
CREATE INDEX partners_name ON partners (name, id);

-- Operators who look at a partner's portal as support. session is the id of the session
-- in which the visit was begun, and counts there alone. acts_since is 0 as long as the
-- visit may change nothing.
CREATE TABLE support_visits (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL REFERENCES partners (id),
	user_id    INTEGER NOT NULL,
	session    TEXT NOT NULL,
	reason     TEXT NOT NULL,
	begun_at   INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	acts_since INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX support_visits_user ON support_visits (user_id, partner_id, id);
CREATE INDEX support_visits_partner ON support_visits (partner_id, id);
CREATE INDEX support_visits_expiry ON support_visits (expires_at);

-- audit

-- The visit as support in which a user acted; 0: none.
ALTER TABLE audit_entries ADD COLUMN support_visit INTEGER NOT NULL DEFAULT 0;
