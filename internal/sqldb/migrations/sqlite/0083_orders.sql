-- payment
-- kind: expanding

-- The public state of an order, and the updated_at of the facts that it was derived from. Nodes of
-- 1.0.0 move only updated_at: rows in which the two differ are derived again.
ALTER TABLE checkouts ADD COLUMN order_state INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkouts ADD COLUMN stated_at INTEGER NOT NULL DEFAULT 0;
-- The bank, or the provider, refused the payment: the order failed and did not just expire.
ALTER TABLE checkouts ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
-- The provider's id of the charge, as far as it was named.
ALTER TABLE checkouts ADD COLUMN charge_id TEXT NOT NULL DEFAULT '';
