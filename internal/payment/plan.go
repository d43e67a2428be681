package payment

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// PlanRule is the rule for the price of a plan change in the shop.
type PlanRule string

// The rules.
const (
	Difference PlanRule = "difference" // the new price less what was paid
	FullPrice  PlanRule = "full_price"
	NotInShop  PlanRule = "not_in_shop" // only the operator changes plans
)

// ParsePlanRule reads a rule.
func ParsePlanRule(s string) (PlanRule, error) {
	switch r := PlanRule(s); r {
	case Difference, FullPrice, NotInShop:
		return r, nil
	}
	return "", fault.Field("plan_change_price", "must be difference, full_price or not_in_shop.")
}

// PlanRuleOf returns the rule of a partner.
func (b *Store) PlanRuleOf(ctx context.Context, partnerID int64) (PlanRule, error) {
	rule, err := sqldb.One(
		ctx,
		b.DB,
		sqldb.Value[string],
		`SELECT rule FROM plan_prices WHERE partner_id = $1`,
		partnerID,
	)
	if errors.Is(err, sqldb.ErrNone) {
		return Difference, nil
	}
	if err != nil {
		return "", fmt.Errorf("read what a plan change costs: %w", err)
	}
	return PlanRule(rule), nil
}

// SetPlanRule sets the rule of a partner.
func (b *Store) SetPlanRule(ctx context.Context, by audit.Actor, partnerID int64, rule PlanRule) error {
	before, err := b.PlanRuleOf(ctx, partnerID)
	if err != nil || before == rule {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := partner.Lock(tx, partnerID).One(ctx); errors.Is(err, sqldb.ErrNone) {
			return partner.Unknown()
		} else if err != nil {
			return err
		}
		tx.Queue(`INSERT INTO plan_prices (partner_id, rule, updated_at) VALUES ($1, $2, $3)
			ON CONFLICT (partner_id)
			DO UPDATE SET rule = excluded.rule, updated_at = excluded.updated_at`, partnerID, string(rule), b.Now())
		audit.Record(tx, b.Now(), by, "payment.plan_rule", fmt.Sprintf("partner:%d", partnerID),
			audit.Facts{"plan_change_price": string(before)}, audit.Facts{"plan_change_price": string(rule)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("set what a plan change costs: %w", err)
	}
	return nil
}

// PlanPrice is the current price of a change to a plan.
type PlanPrice struct {
	Amount  Amount // zero: free
	InShop  bool   // false: only the operator can change it
	Credits int64  // earlier payments that reduce the price
}

// Paid is an amount that was paid for a license and not refunded. Disputed payments are not
// counted.
type Paid struct {
	Amount
	Mine bool // the owner of the license paid it
}

// PriceOfPlan returns the price of a change to another plan. Only money in the plan's currency
// counts. A license paid in another currency changes plans outside the shop. An amount too small to
// charge is free, and nothing is ever paid back.
func PriceOfPlan(rule PlanRule, plan partner.Plan, paid []Paid) PlanPrice {
	price := PlanPrice{Amount: Amount{plan.PriceCents, plan.Currency}, InShop: rule != NotInShop}
	if rule == Difference {
		for _, p := range paid {
			if p.Currency != plan.Currency && plan.PriceCents > 0 {
				return PlanPrice{}
			}
			price.Credits += p.Units
		}
		price.Credits = min(price.Credits, plan.PriceCents)
		price.Amount.Units -= price.Credits
	}
	if _, tooSmall := Chargeable(price.Amount.Units, plan.Currency); tooSmall {
		price.Amount.Units = 0
	}
	return price
}

// Takes reports whether this marketplace takes payments.
func (b *Store) Takes() bool { return b != nil && b.Stripe != nil }
