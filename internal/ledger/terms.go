package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// RefundDays means, as Terms.Days, the days in which a buyer of the product may ask for a refund.
const RefundDays = -1

// Terms divide the sales of a partner from BeginsAt on.
type Terms struct {
	ID        int64
	PartnerID int64
	BeginsAt  time.Time
	ShareBP   int64         // the partner's share of the price, in basis points
	Plans     map[int]int64 // other shares, by tier
	Bears     Bearer
	Days      int              // until money becomes payable; -1: the refund_days of the product
	Smallest  map[string]int64 // the smallest payout, by currency
	CreatedAt time.Time
}

// of returns how a sale of a plan is divided.
func (t *Terms) of(tier int) Division {
	share, ok := t.Plans[tier]
	if !ok {
		share = t.ShareBP
	}
	return Division{ShareBP: share, Bears: t.Bears}
}

// Defaults are the terms of partners without terms of their own. With the zero value, their sales stay
// undivided.
type Defaults struct {
	Set     bool
	ShareBP int64
}

// terms returns the default terms; nil: none.
func (d Defaults) terms() *Terms {
	if !d.Set {
		return nil
	}
	return &Terms{ShareBP: d.ShareBP, Bears: MarketplaceBears, Days: RefundDays}
}

const termsColumns = `id, partner_id, begins_at, share_bp, plans, bears, days, smallest, created_at`

func scanTerms(r *sqldb.Row, t *Terms) error {
	var plans, smallest string
	err := r.Scan(&t.ID, &t.PartnerID, &t.BeginsAt, &t.ShareBP, &plans, (*string)(&t.Bears), &t.Days, &smallest,
		&t.CreatedAt)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(plans), &t.Plans); err != nil {
		return fmt.Errorf("read the shares of terms %d: %w", t.ID, err)
	}
	if err := json.Unmarshal([]byte(smallest), &t.Smallest); err != nil {
		return fmt.Errorf("read the smallest payouts of terms %d: %w", t.ID, err)
	}
	return nil
}

// maxDays is the maximum number of days until money becomes payable.
const maxDays = 365

// check refuses invalid terms. Terms can't begin in the past, because its sales are already posted.
func (t *Terms) check(now time.Time) error {
	const share = "must be from 0 to %d basis points: %d is all of the price."
	switch {
	case t.ShareBP < 0 || t.ShareBP > Whole:
		return fault.Field("share", share, Whole, Whole)
	case t.Bears != MarketplaceBears && t.Bears != PartnerBears && t.Bears != ByShare:
		return fault.Field("fees", "must be marketplace, partner or share.")
	case t.Days < RefundDays || t.Days > maxDays:
		return fault.Field(
			"payable_after", "must be from 0 to %d days, or -1 for the refund_days of the product.", maxDays,
		)
	case t.BeginsAt.Before(now):
		return fault.Field(
			"begins_at",
			"must not be in the past, because its sales are already posted. Correct those with an adjustment.",
		)
	}
	for tier, bp := range t.Plans {
		if tier < 1 || bp < 0 || bp > Whole {
			return fault.Field(
				"plans", "must have tiers from 1 on, each with 0 to %d basis points; tier %d is not.", Whole, tier,
			)
		}
	}
	for currency, amount := range t.Smallest {
		if err := checkCurrency("smallest_payout", currency); err != nil {
			return err
		}
		if amount < 0 {
			return fault.Field("smallest_payout", "must not be negative; in %s it is.", currency)
		}
	}
	return nil
}

// checkCurrency refuses a currency that there is not. A balance in one could never be paid.
func checkCurrency(field, code string) error {
	if err := validate.Currency(field, code); err != nil {
		return err
	}
	if !money.Known(code) {
		return fault.Field(field, "must be a currency of ISO 4217, such as EUR; there is no %s.", code)
	}
	return nil
}

// insert queues the row of new terms.
func (t *Terms) insert(tx *sqldb.Tx) error {
	plans, err := json.Marshal(t.Plans)
	if err != nil {
		return err
	}
	smallest, err := json.Marshal(t.Smallest)
	if err != nil {
		return err
	}
	tx.Insert("ledger_terms", []string{
		"partner_id", "begins_at", "share_bp", "plans", "bears", "days", "smallest", "created_at",
	}, [][]any{{
		t.PartnerID, t.BeginsAt, t.ShareBP, string(plans), string(t.Bears), t.Days, string(smallest), t.CreatedAt,
	}})
	return nil
}

// queueTerms queues the query for all terms of a partner, the latest first.
func queueTerms(tx *sqldb.Tx, partnerID int64) *sqldb.Result[Terms] {
	return sqldb.QueueQuery(tx, scanTerms, `SELECT `+termsColumns+` FROM ledger_terms WHERE partner_id = $1
		ORDER BY begins_at DESC, id DESC`, partnerID)
}

// History returns all terms of a partner, the latest first.
func History(ctx context.Context, r sqldb.Reader, partnerID int64) ([]Terms, error) {
	list, err := sqldb.All(ctx, r, scanTerms, `SELECT `+termsColumns+` FROM ledger_terms WHERE partner_id = $1
		ORDER BY begins_at DESC, id DESC`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("read the terms of partner %d: %w", partnerID, err)
	}
	return list, nil
}

// NewestTerms returns the terms of a partner that were added last.
func NewestTerms(ctx context.Context, r sqldb.Reader, partnerID int64) (Terms, error) {
	t, err := sqldb.One(ctx, r, scanTerms, `SELECT `+termsColumns+` FROM ledger_terms WHERE partner_id = $1
		ORDER BY id DESC LIMIT 1`, partnerID)
	if err != nil {
		return t, fmt.Errorf("read the newest terms of partner %d: %w", partnerID, err)
	}
	return t, nil
}

// Current returns the terms that count at a time; nil: none. The list has the latest first.
func Current(list []Terms, d Defaults, at time.Time) *Terms {
	for i := range list {
		if !list[i].BeginsAt.After(at) {
			return &list[i]
		}
	}
	return d.terms()
}
