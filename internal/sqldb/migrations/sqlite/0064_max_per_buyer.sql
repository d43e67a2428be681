-- partner

-- How many licenses of the plan one buyer may take in the shop; 0: any number, -1: not set,
-- which is 1 while the price is 0 and any number otherwise.
ALTER TABLE plans ADD COLUMN max_per_buyer INTEGER NOT NULL DEFAULT -1;
