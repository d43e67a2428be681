-- account
-- kind: expanding

-- The address that a guest typed, apart from email: it is not proven, and several guests may have
-- typed the same one. merged_into is the user that has everything of a merged one.
ALTER TABLE users ADD COLUMN guest_email TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN guest_email_key TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN merged_into BIGINT NOT NULL DEFAULT 0;

-- People who buy without an account. Each buys one plan, and only the browser that pays knows them.
CREATE TABLE guests (
	user_id       BIGINT NOT NULL PRIMARY KEY,
	partner_id    BIGINT NOT NULL,
	tier          BIGINT NOT NULL,
	browser_hash  TEXT NOT NULL,
	browser_until BIGINT NOT NULL,
	next          TEXT NOT NULL, -- the page that leads to the license; '' until it is paid
	created_at    BIGINT NOT NULL,
	paid_at       BIGINT NOT NULL -- 0: not yet
);
CREATE INDEX guests_browser ON guests (browser_hash);
CREATE INDEX guests_unpaid ON guests (created_at) WHERE paid_at = 0;

-- The mailed links that prove the address of a guest.
CREATE TABLE guest_links (
	hash       TEXT NOT NULL PRIMARY KEY,
	user_id    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at    BIGINT NOT NULL
);
CREATE INDEX guest_links_user ON guest_links (user_id);
CREATE INDEX guest_links_expiry ON guest_links (expires_at);
