-- account
-- The new address of a user that a mailed link proves.
ALTER TABLE login_links ADD COLUMN email TEXT NOT NULL DEFAULT '';
