package license

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/idempotency"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// PlanChange orders another plan for a license.
type PlanChange struct {
	Tier        int
	AmountCents int64
	Currency    string
	ExternalID  string
	Idempotency idempotency.Request
}

// ChangePlan adds a purchase of another plan to the license's chain. Only a
// refunded license refuses it: while held or released, the buyer may have paid.
// The same tier again is recorded when it has an external id of its own, since
// it can be refunded, and is no event.
func (r *Registry) ChangePlan(ctx context.Context, by audit.Actor, key string, c PlanChange, answer func(License) []byte) ([]byte, error) {
	found, err := r.ByKey(ctx, key)
	if err != nil {
		return nil, err
	}
	var out []byte
	err = r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var kept bool
		var err error
		if out, kept, err = idempotency.Find(ctx, tx, c.Idempotency); kept || err != nil {
			return err
		}
		if out, err = r.changePlan(ctx, tx, by, found, c, answer); err != nil {
			return err
		}
		idempotency.Keep(tx, c.Idempotency, out, r.Now())
		return nil
	})
	return out, err
}

func (r *Registry) changePlan(ctx context.Context, tx *sqldb.Tx, by audit.Actor, found License, c PlanChange, answer func(License) []byte) ([]byte, error) {
	pending := queueSaleTx(tx, found.PartnerID, 1)
	now, chain := queueState(tx, found.ID)
	earlier := queueSaleLookup(tx, found.PartnerID, PlanUpgrade, c.ExternalID)
	plan := partner.QueuePlan(tx, found.PartnerID, c.Tier)
	saleID := sqldb.NextIDs(tx, "purchase_ids", 1)
	t, err := r.partnerTx(ctx, tx, by, pending)
	if err != nil {
		return nil, err
	}
	switch sale, err := earlier.One(ctx); {
	case err == nil && sale.content != c.content(found.Key):
		return nil, errReused()
	case err == nil:
		return []byte(sale.answer), nil
	case !errors.Is(err, sqldb.ErrNone):
		return nil, fmt.Errorf("look for an earlier plan change: %w", err)
	}
	if err := t.ledger.CheckNotPaused(ctx, tx); err != nil {
		return nil, err
	}
	if err := t.requirePlan(ctx, c.Tier, plan); err != nil {
		return nil, err
	}
	s, err := readState(ctx, now, chain)
	if err != nil {
		return nil, err
	}
	if refunded(s.chain) {
		return nil, errRefunded()
	}
	if c.Tier == s.Tier && c.ExternalID == "" {
		return answer(s.License), nil
	}
	id, err := saleID.One(ctx)
	if err != nil {
		return nil, fmt.Errorf("allocate a purchase id: %w", err)
	}
	return t.changePlan(s, id, c, answer), nil
}

// changePlan writes the purchase and what it makes of the license. The purchase
// keeps the answer: nothing else would tell it once the license went on.
func (t *partnerTx) changePlan(s *state, saleID int64, c PlanChange, answer func(License) []byte) []byte {
	s.chain = append(s.chain, link{seq: len(s.chain) + 1, purchaseID: saleID, tier: c.Tier})
	after := s.License
	after.Status, after.Tier = derive(s.License, s.chain)
	if after.Status != s.Status || after.Tier != s.Tier {
		after.UpdatedAt = t.now
	}
	out := answer(after)
	sale := Sale{
		ID: saleID, PartnerID: s.PartnerID, Kind: PlanUpgrade, ExternalID: c.ExternalID, Tier: c.Tier, Quantity: 1,
		AmountCents: c.AmountCents, Currency: c.Currency, UserID: s.OwnerID, CreatedAt: t.now, content: c.content(s.Key),
	}
	if c.ExternalID != "" {
		sale.answer = string(out)
	}
	sale.insert(t.tx) // before the link that refers to it
	t.writeChange(s, "license.plan", event.PlanChanged)
	t.ledger.Save(t.tx)
	return out
}
