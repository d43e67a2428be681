-- payment

-- The list of the provider's events that is under way: when it began, and the event that its
-- next page comes after; '': none is under way.
ALTER TABLE payment_listing ADD COLUMN began_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payment_listing ADD COLUMN after_id TEXT NOT NULL DEFAULT '';
