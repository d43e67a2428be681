-- ledger
-- kind: expanding

-- The first payout run; 0: there was none. began_at does not change any more.
ALTER TABLE ledger_state ADD COLUMN paid_at BIGINT NOT NULL DEFAULT 0;
-- When began_at was changed, while sales are still settled by the new one; 0: all are.
ALTER TABLE ledger_state ADD COLUMN moved_at BIGINT NOT NULL DEFAULT 0;
-- The last sale that is settled by the new one, and its partner.
ALTER TABLE ledger_state ADD COLUMN moved_partner BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_state ADD COLUMN moved_purchase BIGINT NOT NULL DEFAULT 0;
