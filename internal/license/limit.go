package license

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// limited reports whether an order must respect the limit per buyer of its plan. Only orders of the
// shop must, and only before they are paid.
func (o *order) limited() bool { return o.Shop && !o.Paid }

// ownedPlan identifies the licenses of one plan of a partner with one owner.
type ownedPlan struct {
	ownerID int64
	tier    int
}

// buyerLimits has the data for checking the limits per buyer.
type buyerLimits struct {
	perBuyer map[int]int // by tier
	owned    map[ownedPlan]int
}

// readLimits reads the limits of a partner's plans from the lowest to the highest tier, and counts
// the owners' licenses of each plan. Ended licenses do not count, and neither do those that a guest
// bought: anyone can type an address and pay.
func readLimits(
	ctx context.Context,
	tx *sqldb.Tx,
	partnerID int64,
	lowest, highest int,
	owners []int64,
) (buyerLimits, error) {
	type counted struct {
		ownedPlan
		n int
	}
	plans := partner.QueuePlanLimits(tx, partnerID, lowest, highest)
	owned := sqldb.QueueQuery(
		tx,
		func(r *sqldb.Row, c *counted) error { return r.Scan(&c.ownerID, &c.tier, &c.n) },
		`SELECT owner_id, tier, count(*) FROM licenses WHERE owner_id = ANY($1) AND owner_id <> 0 AND partner_id = $2
			AND NOT ended AND NOT from_guest
		GROUP BY owner_id, tier`,
		owners,
		partnerID,
	)
	l := buyerLimits{map[int]int{}, map[ownedPlan]int{}}
	list, err := plans.All(ctx)
	if err != nil {
		return l, fmt.Errorf("read the limits of plans: %w", err)
	}
	for _, p := range list {
		l.perBuyer[p.Tier] = p.PerBuyer()
	}
	counts, err := owned.All(ctx)
	if err != nil {
		return l, fmt.Errorf("count the licenses of buyers: %w", err)
	}
	for _, c := range counts {
		l.owned[c.ownedPlan] = c.n
	}
	return l, nil
}

// check refuses more licenses of a plan if the buyer would exceed the limit.
func (l buyerLimits) check(of ownedPlan, more int) error {
	limit := l.perBuyer[of.tier]
	if limit == 0 || of.ownerID == 0 || l.owned[of]+more <= limit {
		return nil
	}
	return fault.New(fault.Conflict, CodeTooManyLicenses,
		"You already have as many licenses of this plan as one person can have. Nothing was bought; see My licenses.")
}

// sellWithin sells orders to the found buyers, one for each order that describes its buyer. Orders
// of the shop respect the limits of their plans, and count earlier sales of the same set.
func (s *saleSet) sellWithin(ctx context.Context, selling []*order, found []account.Found) error {
	buyers := make([]int64, len(selling))
	for i, o := range selling {
		buyers[i] = o.BuyerID
		if o.Buyer != nil {
			buyers[i] = found[0].User.ID
			o.result.Err = found[0].Err
			found = found[1:]
		}
	}
	limits, limited, err := s.limitsOf(ctx, selling, buyers)
	if err != nil {
		return err
	}
	for i, o := range selling {
		of := ownedPlan{buyers[i], o.Tier}
		if o.result.Err == nil && o.limited() {
			o.result.Err = limits.check(of, o.Quantity)
		}
		if o.result.Err != nil {
			continue
		}
		if err := s.sell(o, of.ownerID); err != nil {
			return err
		}
		if limited {
			limits.owned[of] += o.Quantity
		}
	}
	return nil
}

// limitsOf reads the limits for the orders, and adds earlier sales of this set. If no order is
// limited, limited is false and nothing is read.
func (s *saleSet) limitsOf(
	ctx context.Context,
	selling []*order,
	buyers []int64,
) (limits buyerLimits, limited bool, err error) {
	lowest := partner.MaxTier
	highest := 0
	for _, o := range selling {
		if o.limited() {
			lowest = min(lowest, o.Tier)
			highest = max(highest, o.Tier)
		}
	}
	if highest == 0 {
		return buyerLimits{}, false, nil
	}
	limits, err = readLimits(ctx, s.tx, s.counters.PartnerID, lowest, highest, buyers)
	for _, sale := range s.made { // not written yet
		limits.owned[ownedPlan{sale.UserID, sale.Tier}] += sale.Quantity
	}
	return limits, true, err
}

// CheckLimit refuses a person that has reached the limit of a plan in the shop. Within a
// transaction that locked the partner, the result holds until its end.
func (r *Store) CheckLimit(ctx context.Context, partnerID int64, tier int, userID int64) error {
	check := func(tx *sqldb.Tx) error {
		limits, err := readLimits(ctx, tx, partnerID, tier, tier, []int64{userID})
		if err != nil {
			return err
		}
		return limits.check(ownedPlan{userID, tier}, 1)
	}
	return r.way().read(ctx, r.DB, check)
}

// AtLimit returns, by tier, the newest license of each of the partner's plans for which a person
// has reached the limit in the shop.
func (r *Store) AtLimit(
	ctx context.Context,
	userID, partnerID int64,
	plans []partner.Plan,
) (map[int]License, error) {
	list, err := sqldb.All(ctx, r.reader(), scan, `SELECT `+columns+` FROM licenses
		WHERE owner_id = $1 AND owner_id <> 0 AND partner_id = $2 AND NOT ended AND NOT from_guest ORDER BY id DESC
		LIMIT $3`, userID, partnerID, mostOwned)
	if err != nil {
		return nil, fmt.Errorf("list the licenses of a buyer: %w", err)
	}
	n := map[int]int{}
	newest := map[int]License{}
	for _, l := range list {
		if n[l.Tier]++; n[l.Tier] == 1 {
			newest[l.Tier] = l
		}
	}
	reached := map[int]License{}
	for _, p := range plans {
		if limit := p.PerBuyer(); limit > 0 && n[p.Tier] >= limit {
			reached[p.Tier] = newest[p.Tier]
		}
	}
	return reached, nil
}
