-- account

-- E-mail addresses are compared without the letter case of A to Z; other letters keep
-- theirs. The keys were made by folding all of Unicode before.
UPDATE users SET email_key = lower(email) WHERE email_key <> lower(email);

-- profile

UPDATE contacts SET email_key = lower(email) WHERE email_key <> lower(email);
