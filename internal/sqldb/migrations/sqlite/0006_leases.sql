-- webhook

-- What a node has found due and means to send: one lease for all that a search
-- found of a partner. The others leave its licenses alone until the row is gone.
-- The list is JSON.
CREATE TABLE leases (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id  INTEGER NOT NULL,
	node        TEXT NOT NULL,
	lease_until INTEGER NOT NULL,
	licenses    TEXT NOT NULL
) STRICT;
CREATE INDEX leases_partner ON leases (partner_id);
