-- account

-- E-mail addresses are compared without the letter case of A to Z; other letters keep
-- theirs. The keys were made by folding all of Unicode before.
UPDATE users SET email_key = lower(email) WHERE email_key <> lower(email);

-- That a visitor asked for a link to an address, which may be nobody's. A row is here
-- until the job that mails links has looked at it.
CREATE TABLE link_requests (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	email_key  TEXT NOT NULL,
	purpose    TEXT NOT NULL,
	next       TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;

-- profile

UPDATE contacts SET email_key = lower(email) WHERE email_key <> lower(email);

-- mail

-- Whether body and html are sealed, as they are while a mail waits. They are blank once
-- it was sent or given up: links that sign somebody in must not stay.
ALTER TABLE mails ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
UPDATE mails SET body = '', html = '' WHERE state <> 1;
