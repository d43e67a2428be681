package license

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// PlanChange orders another plan for a license.
type PlanChange struct {
	Tier        int
	AmountCents int64
	Currency    string
	ExternalID  string
	Shop        bool // ordered on the pages of this service
	Idempotency idempotency.Request

	// Paid says that money has moved for it: it is made although the plan was removed or the
	// partner paused. PlanName is what the plan was called then.
	Paid     bool
	PlanName string

	// Then, if there is one, queues what belongs to the plan change in its transaction.
	Then func(tx *sqldb.Tx, saleID int64)
}

// ChangePlan adds a purchase of another plan to the license's chain. Only a
// refunded license refuses it: while held or released, the buyer may have paid.
// The same tier again is recorded when it has an external id of its own, since
// it can be refunded, and is no event. A repeat returns the license as the first
// request left it.
func (r *Registry) ChangePlan(ctx context.Context, by audit.Actor, key string, c PlanChange) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err != nil {
		return License{}, err
	}
	err = r.write(ctx, func(tx *sqldb.Tx) error {
		var earlier outcome
		found, err := idempotency.Lookup(ctx, tx, c.Idempotency, &earlier)
		if err != nil {
			return err
		}
		if found {
			l, err = earlier.readPlanChange(ctx, tx, l)
			return err
		}
		if l, err = r.changePlan(ctx, tx, by, l, c); err != nil {
			return err
		}
		return idempotency.Store(tx, c.Idempotency, outcome{Licenses: left(l)}, r.Now())
	})
	if err != nil {
		return License{}, err
	}
	return l, nil
}

func (r *Registry) changePlan(ctx context.Context, tx *sqldb.Tx, by audit.Actor, l License, c PlanChange) (License, error) {
	external := externalRequest("plan_change", l.PartnerID, c.ExternalID, c.content(l.Key))
	pending := queueSaleTx(tx, l.PartnerID, 1, c.Tier, c.Tier)
	now, chain := queueState(tx, l.ID)
	lookup := idempotency.QueueLookup(tx, external)
	saleID := sqldb.NextIDs(tx, "purchase_ids", 1)
	t, err := r.partnerTx(ctx, tx, by, pending)
	if err != nil {
		return License{}, err
	}
	var earlier outcome
	switch found, err := lookup.Read(ctx, &earlier); {
	case err != nil:
		return License{}, err
	case found:
		return earlier.readPlanChange(ctx, tx, l)
	}
	if err := t.mayChangePlan(ctx, c); err != nil {
		return License{}, err
	}
	s, err := t.readState(ctx, now, chain)
	if err != nil {
		return License{}, err
	}
	if refunded(s.chain) {
		return License{}, errRefunded()
	}
	if c.Tier == s.Tier && c.ExternalID == "" {
		return s.License, nil
	}
	id, err := saleID.One(ctx)
	if err != nil {
		return License{}, fmt.Errorf("allocate a purchase id: %w", err)
	}
	t.changePlan(s, id, c)
	if c.Then != nil {
		c.Then(tx, id)
	}
	if err := t.tell(ctx); err != nil {
		return License{}, err
	}
	return s.License, idempotency.Store(tx, external, outcome{Licenses: left(s.License)}, t.now)
}

func (t *partnerTx) mayChangePlan(ctx context.Context, c PlanChange) error {
	if c.Paid {
		if t.plans[c.Tier] == "" {
			t.plans[c.Tier] = c.PlanName
		}
		return nil
	}
	if err := t.ledger.CheckNotPaused(ctx, t.tx); err != nil {
		return err
	}
	return t.requirePlan(c.Tier)
}

// changePlan writes the purchase and the change of the license.
func (t *partnerTx) changePlan(s *state, saleID int64, c PlanChange) {
	s.chain = append(s.chain, link{seq: len(s.chain) + 1, purchaseID: saleID, tier: c.Tier})
	sale := Sale{
		ID: saleID, PartnerID: s.PartnerID, Kind: PlanUpgrade, ExternalID: c.ExternalID, Tier: c.Tier, Quantity: 1,
		AmountCents: c.AmountCents, Currency: c.Currency, UserID: s.OwnerID, Shop: c.Shop, CreatedAt: t.now,
	}
	insertSales(t.tx, sale) // before the link that refers to it
	t.writeChange(s, "license.plan", event.PlanChanged)
	t.addPlanNews(s, sale)
	t.ledger.Save(t.tx)
}
