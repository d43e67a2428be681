package revenue

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Walk reads the sums of each plan, day and currency, a batch at a time. The zero value reads all.
type Walk struct {
	PartnerID   int64     // 0: all
	First, Last time.Time // days, both included; zero: no bound

	caughtUp bool
	after    key
}

// lastDay is later than every day.
const lastDay = 1 << 40

// Next returns the next rows, ordered by partner and day, and whether there are more. First it has
// postings counted that are not counted yet: meanwhile, it returns no rows.
func (b *Store) Next(ctx context.Context, w *Walk, most int) (list []Row, more bool, err error) {
	if !w.caughtUp {
		more, err = b.Count(ctx)
		w.caughtUp = !more && err == nil
		return nil, true, err
	}
	first, last := int64(0), int64(lastDay)
	if !w.First.IsZero() {
		first = dayOf(w.First)
	}
	if !w.Last.IsZero() {
		last = dayOf(w.Last)
	}
	text := `SELECT partner_id, day, tier, currency, sales, revenue, direct, refunds, fees, borne, share, undivided
		FROM revenue_days WHERE (partner_id, day, tier, currency) > ($1, $2, $3, $4) AND day BETWEEN $5 AND $6`
	args := []any{w.after.partnerID, w.after.day, w.after.tier, w.after.currency, first, last, most}
	if w.PartnerID != 0 {
		text += ` AND partner_id = $8`
		args = append(args, w.PartnerID)
	} else {
		text += ` AND partner_id > 0`
	}
	list, err = sqldb.All(ctx, b.DB, scanRow, text+` ORDER BY partner_id, day, tier, currency LIMIT $7`, args...)
	if err != nil {
		return nil, false, fmt.Errorf("read revenue by day: %w", err)
	}
	if len(list) < most {
		return list, false, nil
	}
	end := list[len(list)-1]
	w.after = key{end.PartnerID, dayOf(end.Day), end.Tier, end.Currency}
	return list, true, nil
}

func scanRow(r *sqldb.Row, v *Row) error {
	var day int64
	err := r.Scan(&v.PartnerID, &day, &v.Tier, &v.Currency, &v.Sales, &v.Revenue, &v.Direct, &v.Refunds, &v.Fees,
		&v.Borne, &v.Share, &v.Undivided)
	v.Day = timeOfDay(day)
	return err
}
