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
-- The form in which the recipient is compared, so that mails to an erased address are found.
ALTER TABLE mails ADD COLUMN recipient_key TEXT NOT NULL DEFAULT '';
UPDATE mails SET recipient_key = lower(recipient);
CREATE INDEX mails_recipient ON mails (recipient_key);

-- license

-- Whose the license was when it was refunded: the reason may be about that person.
ALTER TABLE refund_items ADD COLUMN owner_id INTEGER NOT NULL DEFAULT 0;
UPDATE refund_items SET owner_id = (SELECT owner_id FROM licenses WHERE licenses.id = refund_items.license_id);
CREATE INDEX refund_items_owner ON refund_items (owner_id) WHERE owner_id <> 0;

-- idempotency

-- What an answer is about, such as refund:1, where it has text that can be erased.
ALTER TABLE idempotency_keys ADD COLUMN about TEXT NOT NULL DEFAULT '';
CREATE INDEX idempotency_keys_about ON idempotency_keys (about) WHERE about <> '';

-- audit

-- The session in which a person acted, and the address of their client, which is
-- blanked after 90 days.
ALTER TABLE audit_entries ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_entries ADD COLUMN client TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_entries_client ON audit_entries (at) WHERE client <> '';
CREATE INDEX audit_entries_user ON audit_entries (actor_id, id) WHERE actor_kind = 'user';

-- Entries stay for ever: they name nobody who can ask to be erased.
UPDATE audit_entries SET after = json_remove(after, '$.name', '$.email') WHERE action = 'contact.create' AND after <> '';
UPDATE audit_entries SET before = json_remove(before, '$.name', '$.email') WHERE action = 'contact.delete' AND before <> '';
UPDATE audit_entries SET after = json_remove(after, '$.reason') WHERE action = 'refund.create' AND after <> '';
