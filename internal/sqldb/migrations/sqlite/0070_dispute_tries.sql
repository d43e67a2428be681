-- payment

-- How many questions to the provider about a dispute failed in a row.
ALTER TABLE payment_disputes ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
