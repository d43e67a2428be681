-- license
-- kind: expanding

-- A guest bought the license: anyone can type an address, so it does not count in the buyer limit of
-- its plan.
ALTER TABLE licenses ADD COLUMN from_guest INTEGER NOT NULL DEFAULT 0;
