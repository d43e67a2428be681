-- license
-- kind: expanding

-- What nodes of 1.0.0 did not post, and sales from before the ledger.
CREATE INDEX CONCURRENTLY IF NOT EXISTS purchases_unposted ON purchases (partner_id, id)
	WHERE posted = FALSE AND amount_cents <> 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS refunds_unposted ON refunds (id)
	WHERE posted_at < created_at OR posted_at < reversed_at;

-- payment

CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_refunds_unposted ON payment_refunds (id)
	WHERE posted_at <> updated_at AND checkout_id <> 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_disputes_unposted ON payment_disputes (provider_id)
	WHERE posted_at <> updated_at AND checkout_id <> 0;
