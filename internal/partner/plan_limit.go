package partner

import (
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// MaxPerBuyer is the highest limit per buyer that a plan may have.
const MaxPerBuyer = 1000

// BuyerLimit limits the licenses of a plan per buyer in the shop. The zero value is not set: then
// Plan.PerBuyer follows from the price.
type BuyerLimit struct {
	Set bool
	Max int // 0: any number
}

// limitNotSet is the number of a limit that is not set. 0 is taken: it means any number.
const limitNotSet = -1

// BuyerLimitOf returns the limit for a number from BuyerLimit.Number.
func BuyerLimitOf(n int) BuyerLimit {
	if n == limitNotSet {
		return BuyerLimit{}
	}
	return BuyerLimit{Set: true, Max: n}
}

// Number returns the limit in its form for storage and the API: -1 if it is not set.
func (l BuyerLimit) Number() int {
	if !l.Set {
		return limitNotSet
	}
	return l.Max
}

func (l BuyerLimit) check() error {
	if l.Set && (l.Max < 0 || l.Max > MaxPerBuyer) {
		return fault.Field(
			"max_per_buyer",
			"must be a whole number from 1 to %d, 0 for no limit, or -1 for the default.",
			MaxPerBuyer,
		)
	}
	return nil
}

// PerBuyer returns the maximum number of licenses of the plan per buyer in the shop; 0 means any
// number.
func (p Plan) PerBuyer() int {
	switch {
	case p.MaxPerBuyer.Set:
		return p.MaxPerBuyer.Max
	case p.PriceCents == 0:
		return 1
	}
	return 0
}

// QueuePlanLimits queues the query for the plans from the lowest to the highest tier, with the
// fields that PerBuyer needs.
func QueuePlanLimits(tx *sqldb.Tx, partnerID int64, lowest, highest int) *sqldb.Result[Plan] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, p *Plan) error {
		var limit int
		err := r.Scan(&p.Tier, &p.PriceCents, &limit)
		p.MaxPerBuyer = BuyerLimitOf(limit)
		return err
	}, `SELECT tier, price_cents, max_per_buyer FROM plans WHERE partner_id = $1 AND tier >= $2
		AND tier <= $3`, partnerID, lowest, highest)
}
