-- account

-- Whether the user has a one-time code or a passkey: then neither the password nor a
-- link is enough to sign in.
ALTER TABLE users ADD COLUMN second_factor INTEGER NOT NULL DEFAULT 0;

-- The secret of one-time codes. last_step is the time step of the newest code that was
-- accepted: it and older ones are not accepted again.
CREATE TABLE totp_secrets (
	user_id      INTEGER PRIMARY KEY REFERENCES users (id),
	sealed       TEXT NOT NULL,
	last_step    INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE passkeys (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id       INTEGER NOT NULL REFERENCES users (id),
	credential_id TEXT NOT NULL UNIQUE,
	credential    TEXT NOT NULL,
	sign_count    INTEGER NOT NULL,
	name          TEXT NOT NULL,
	created_at    INTEGER NOT NULL,
	last_used_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX passkeys_user ON passkeys (user_id, id);

CREATE TABLE recovery_codes (
	user_id INTEGER NOT NULL REFERENCES users (id),
	hash    TEXT NOT NULL,
	used_at INTEGER NOT NULL,
	PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Challenges that a passkey has answered: each is answered once.
CREATE TABLE used_challenges (
	hash       TEXT NOT NULL PRIMARY KEY,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_challenges_expiry ON used_challenges (expires_at);

-- Who is signed in with a session, for its owner to see. epoch is that of the user's
-- sessions when it began: it is over when the user has another.
CREATE TABLE signed_sessions (
	hash       TEXT NOT NULL PRIMARY KEY,
	user_id    INTEGER NOT NULL,
	epoch      INTEGER NOT NULL,
	browser    TEXT NOT NULL,
	client     TEXT NOT NULL,
	begun_at   INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX signed_sessions_user ON signed_sessions (user_id, seen_at);
CREATE INDEX signed_sessions_expiry ON signed_sessions (expires_at);
