package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// PlanChange orders another plan for a license.
type PlanChange struct {
	Tier        int
	AmountCents int64
	Currency    string
	Collected   ledger.Collector // "": the marketplace
	Credit      int64            // money of earlier purchases that reduced the price, in the same currency
	ExternalID  string
	Shop        bool // ordered on the pages of this service
	Idempotency idempotency.Request

	// Paid means that money has moved: the plan change is made even if the plan was removed or the
	// partner paused. PlanName is the plan's name at that time.
	Paid     bool
	PlanName string

	RefundUntil time.Time // see Order

	// Then, if set, queues related rows in the transaction of the plan change.
	Then func(tx *sqldb.Tx, saleID int64)
}

// ChangePlan adds a purchase of another plan to the license's chain. It refuses an ended license.
// For a held license, the shop refuses it too, unless the buyer has paid. The same tier again is
// recorded if it has an external id of its own, because it can be refunded, but makes no event. A
// repeat returns the license in its state after the first request.
func (r *Store) ChangePlan(ctx context.Context, by audit.Actor, key string, c PlanChange) (License, error) {
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

func (r *Store) changePlan(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	l License,
	c PlanChange,
) (License, error) {
	external := externalRequest("plan_change", l.PartnerID, c.ExternalID, c.content(l.Key))
	pending := queueSaleTx(tx, l.PartnerID, 1, c.Tier, c.Tier)
	now, chain := queueState(tx, l.ID)
	lookup := idempotency.QueueLookup(tx, external)
	saleID := sqldb.NextIDs(tx, "purchase_ids", 1)
	terms := r.queueTerms(tx, l.PartnerID, c.AmountCents, c.Currency)
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
	if err := s.mayChangePlan(c); err != nil {
		return License{}, err
	}
	if c.Tier == s.Tier && c.ExternalID == "" {
		return s.License, nil
	}
	id, err := saleID.One(ctx)
	if err != nil {
		return License{}, fmt.Errorf("allocate a purchase id: %w", err)
	}
	sale := t.changePlan(s, id, c)
	if err := t.postSales(ctx, terms, sale); err != nil {
		return License{}, err
	}
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
	if err := t.counters.CheckNotPaused(ctx, t.tx); err != nil {
		return err
	}
	return t.requirePlan(c.Tier)
}

// mayChangePlan refuses a plan change that the license does not allow. A paid change without enough
// credit left is recorded: money has moved, and the link stands if the money returns.
func (s *state) mayChangePlan(c PlanChange) error {
	switch {
	case c.Paid && c.Credit > 0:
		return nil
	case ended(s.chain):
		return errRefunded()
	case c.Paid:
		return nil
	case c.Shop && s.Held != 0:
		return fault.New(fault.Conflict, CodeLicenseHeld,
			"The license is on hold, so its plan cannot be changed. Contact the marketplace to have the hold lifted.")
	case c.Credit > kept(s.chain, c.Currency):
		return ErrCreditGone()
	}
	return nil
}

// ErrCreditGone refuses a free plan change: the money that covered it was refunded.
func ErrCreditGone() error {
	return fault.New(
		fault.Conflict,
		CodeCreditGone,
		"The payment that covered this plan was refunded or is disputed, so the plan has another price now. Look at "+
			"the plans again.",
	)
}

// changePlan writes the purchase and the change of the license.
func (t *partnerTx) changePlan(s *state, saleID int64, c PlanChange) Sale {
	sale := Sale{
		ID: saleID, PartnerID: s.PartnerID, Kind: PlanUpgrade, ExternalID: c.ExternalID, Tier: c.Tier, Quantity: 1,
		AmountCents: c.AmountCents, Currency: c.Currency, UserID: s.OwnerID, Shop: c.Shop, CreatedAt: t.now,
		RefundUntil: c.RefundUntil, Collected: collector(c.Collected, c.Paid),
	}
	insertSales(t.tx, sale) // before the link that refers to it
	s.chain = append(s.chain, newLink(len(s.chain)+1, sale, c.Credit))
	t.writeChange(s, "license.plan", event.PlanChanged)
	t.addPlanNews(s, sale)
	t.counters.Save(t.tx)
	return sale
}
