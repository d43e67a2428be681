-- account

-- Raised when somebody signs out everywhere or gets a new password: sessions that
-- were begun under a lower one are over.
ALTER TABLE users ADD COLUMN session_epoch INTEGER NOT NULL DEFAULT 0;

-- purpose is what a link is for, next the page it leads to. password_hash waits,
-- for a sign-up, until the address has proven itself in the browser that knows
-- the secret behind browser_hash.
ALTER TABLE login_links ADD COLUMN purpose TEXT NOT NULL DEFAULT 'sign-in';
ALTER TABLE login_links ADD COLUMN next TEXT NOT NULL DEFAULT '';
ALTER TABLE login_links ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE login_links ADD COLUMN password_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE login_links ADD COLUMN browser_hash TEXT NOT NULL DEFAULT '';
CREATE INDEX login_links_expiry ON login_links (expires_at);

CREATE TABLE sessions (
	hash       TEXT NOT NULL PRIMARY KEY,
	data       TEXT NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- profile

-- How the partner wants to be connected: where it begins a sign-in of its own,
-- how its identity tokens are signed, and whether the answer to a code exchange
-- leaves out its empty error member.
ALTER TABLE profiles ADD COLUMN initiate_login_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE profiles ADD COLUMN id_token_alg TEXT NOT NULL DEFAULT 'RS256';
ALTER TABLE profiles ADD COLUMN no_error_member INTEGER NOT NULL DEFAULT 0;

-- oauth

-- A key that signs identity tokens. One that nobody has activated yet is next:
-- published, so that everybody knows it before it signs.
CREATE TABLE oauth_keys (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	kid          TEXT NOT NULL UNIQUE,
	alg          TEXT NOT NULL,
	sealed       TEXT NOT NULL,
	created_at   INTEGER NOT NULL,
	activates_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX oauth_keys_next ON oauth_keys (alg) WHERE activates_at = 0;

-- One authorization: its code, and the family of all tokens given for it. It
-- serves while the epochs of the license and of the redirect URL (the latter until
-- the code is used) are those that it was made under.
CREATE TABLE oauth_grants (
	id             INTEGER PRIMARY KEY AUTOINCREMENT,
	code_hash      TEXT NOT NULL UNIQUE,
	partner_id     INTEGER NOT NULL,
	license_id     INTEGER NOT NULL,
	user_id        INTEGER NOT NULL,
	license_epoch  INTEGER NOT NULL,
	redirect_url   TEXT NOT NULL,
	redirect_epoch INTEGER NOT NULL,
	challenge      TEXT NOT NULL,
	nonce          TEXT NOT NULL,
	scope          TEXT NOT NULL,
	auth_time      INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,
	used_at        INTEGER NOT NULL,
	burned         TEXT NOT NULL,
	revoked_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_grants_age ON oauth_grants (created_at);
CREATE INDEX oauth_grants_user ON oauth_grants (user_id);

-- An access token (kind 1) or a refresh token (kind 2). hash begins with the time
-- of its making, so that new rows stand together. answer is the sealed answer to
-- the refresh that used it up, while that may be repeated.
CREATE TABLE oauth_tokens (
	hash       TEXT NOT NULL PRIMARY KEY,
	grant_id   INTEGER NOT NULL,
	kind       INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	used_at    INTEGER NOT NULL,
	answer     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);
CREATE INDEX oauth_tokens_answer ON oauth_tokens (used_at) WHERE answer <> '';

-- That a buyer let an application know a license; it holds while the license's
-- epoch is this one.
CREATE TABLE oauth_consents (
	license_id INTEGER NOT NULL PRIMARY KEY,
	user_id    INTEGER NOT NULL,
	epoch      INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_consents_user ON oauth_consents (user_id);
