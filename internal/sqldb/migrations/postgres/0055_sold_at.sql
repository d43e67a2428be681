-- license

-- When it was sold, of a purchase that was brought in from elsewhere; 0: when it was created.
ALTER TABLE purchases ADD COLUMN sold_at BIGINT NOT NULL DEFAULT 0;
