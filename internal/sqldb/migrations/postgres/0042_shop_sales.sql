-- license
-- Sales of the shop's own pages: their buyers are told by mail what becomes of them.
ALTER TABLE purchases ADD COLUMN shop BOOLEAN NOT NULL DEFAULT FALSE;
