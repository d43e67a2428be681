package payment

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// PlanRule is what a change of plan costs in the shop.
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
func (b *Book) PlanRuleOf(ctx context.Context, partnerID int64) (PlanRule, error) {
	rule, err := sqldb.One(ctx, b.DB, sqldb.Value[string], `SELECT rule FROM plan_prices WHERE partner_id = $1`, partnerID)
	if errors.Is(err, sqldb.ErrNone) {
		return Difference, nil
	}
	if err != nil {
		return "", fmt.Errorf("read what a plan change costs: %w", err)
	}
	return PlanRule(rule), nil
}

// SetPlanRule sets the rule of a partner.
func (b *Book) SetPlanRule(ctx context.Context, by audit.Actor, partnerID int64, rule PlanRule) error {
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
			ON CONFLICT (partner_id) DO UPDATE SET rule = excluded.rule, updated_at = excluded.updated_at`, partnerID, string(rule), b.Now())
		audit.Record(tx, b.Now(), by, "payment.plan_rule", fmt.Sprintf("partner:%d", partnerID),
			audit.Facts{"plan_change_price": string(before)}, audit.Facts{"plan_change_price": string(rule)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("set what a plan change costs: %w", err)
	}
	return nil
}

// PlanPrice is what a change to a plan costs now.
type PlanPrice struct {
	Amount  Amount // zero: it is free
	InShop  bool   // false: only the operator can make it
	Credits int64  // what was paid before and is taken off
}

// PriceOfPlan returns what a license with these purchases pays for another plan. What was
// paid counts in the plan's own currency only; another currency is not for the shop. What
// is too small to be charged is free, and nothing is ever paid back.
func PriceOfPlan(rule PlanRule, plan partner.Plan, paid []license.Receipt) PlanPrice {
	price := PlanPrice{Amount: Amount{plan.PriceCents, plan.Currency}, InShop: rule != NotInShop}
	if rule == Difference {
		for _, p := range paid {
			switch {
			case p.Refunded || p.AmountCents == 0:
			case p.Currency != plan.Currency && plan.PriceCents > 0:
				return PlanPrice{}
			default:
				price.Credits += money.Units(p.AmountCents, p.Currency, p.Hundredths) / int64(max(p.Quantity, 1))
			}
		}
		price.Credits = min(price.Credits, plan.PriceCents)
		price.Amount.Units -= price.Credits
	}
	if _, tooSmall := Chargeable(price.Amount.Units, plan.Currency); tooSmall {
		price.Amount.Units = 0
	}
	return price
}

// Takes reports whether payments are taken here.
func (b *Book) Takes() bool { return b != nil && b.Stripe != nil }
