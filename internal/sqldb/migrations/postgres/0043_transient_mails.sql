-- mail
-- A mail to somebody who was erased: no record of it stays once it was sent or given up.
ALTER TABLE mails ADD COLUMN transient BOOLEAN NOT NULL DEFAULT FALSE;
