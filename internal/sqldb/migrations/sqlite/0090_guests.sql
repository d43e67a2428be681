-- account
-- kind: expanding

-- The address that a guest typed, apart from email: it is not proven, and several guests may have
-- typed the same one. merged_into is the user that has everything of a merged one.
ALTER TABLE users ADD COLUMN guest_email TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN guest_email_key TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN merged_into INTEGER NOT NULL DEFAULT 0;

-- People who buy without an account. Each buys one plan, and only the browser that pays knows them.
CREATE TABLE guests (
	user_id       INTEGER NOT NULL PRIMARY KEY,
	partner_id    INTEGER NOT NULL,
	tier          INTEGER NOT NULL,
	browser_hash  TEXT NOT NULL,
	browser_until INTEGER NOT NULL,
	next          TEXT NOT NULL, -- the page that leads to the license; '' until it is paid
	created_at    INTEGER NOT NULL,
	paid_at       INTEGER NOT NULL -- 0: not yet
) STRICT, WITHOUT ROWID;
CREATE INDEX guests_browser ON guests (browser_hash);
CREATE INDEX guests_unpaid ON guests (created_at) WHERE paid_at = 0;

-- The mailed links that prove the address of a guest.
CREATE TABLE guest_links (
	hash       TEXT NOT NULL PRIMARY KEY,
	user_id    INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	used_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX guest_links_user ON guest_links (user_id);
CREATE INDEX guest_links_expiry ON guest_links (expires_at);
