-- payment
-- kind: expanding

CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_stale ON checkouts (stated_at, id) WHERE updated_at <> stated_at;
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_state ON checkouts (order_state, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_partner ON checkouts (partner_id, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_user ON checkouts (user_id, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_session ON checkouts (session_id) WHERE session_id <> '';
CREATE INDEX CONCURRENTLY IF NOT EXISTS checkouts_charge ON checkouts (charge_id) WHERE charge_id <> '';
CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_problems_object ON payment_problems (object_id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_problems_checkout ON payment_problems (checkout_id) WHERE checkout_id <> 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_problems_payment ON payment_problems (intent_id) WHERE intent_id <> '';
