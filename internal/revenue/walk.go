package revenue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Walk reads the sums of each plan, day and currency, a batch at a time. The zero value reads all.
type Walk struct {
	PartnerID int64     // 0: all
	From, To  time.Time // of days that begin in this span: From inclusive, To exclusive; zero: no bound
	Own       bool      // as in Query

	caughtUp bool
	after    key
}

// lastDay is later than every day.
const lastDay = 1 << 24

// Next returns the next rows, ordered by partner and day, and whether there are more. First it has
// postings counted that are not counted yet: meanwhile, it returns no rows.
func (b *Store) Next(ctx context.Context, w *Walk, most int) (list []Row, more bool, err error) {
	if !w.caughtUp {
		more, err = b.Count(ctx)
		w.caughtUp = !more && err == nil
		return nil, true, err
	}
	first, last := Between(w.From, w.To)
	if w.From.IsZero() {
		first = time.Time{}
	}
	if w.To.IsZero() {
		last = timeOfDay(lastDay)
	}
	text := `SELECT partner_id, day, tier, currency, sales, revenue, direct, refunds, fees, borne, share, undivided
		FROM revenue_sums WHERE (partner_id, days, day, tier, currency) > ($1, 1, $2, $3, $4) AND days = 1
			AND day BETWEEN $5 AND $6`
	args := []any{w.after.partnerID, w.after.day, w.after.tier, w.after.currency, dayOf(first), dayOf(last), most}
	if w.PartnerID != 0 {
		text += ` AND partner_id = $8`
		args = append(args, w.PartnerID)
	} else {
		text += ` AND partner_id > 0`
	}
	list, err = sqldb.All(ctx, b.DB, scanRow, text+` ORDER BY partner_id, days, day, tier, currency LIMIT $7`, args...)
	if err != nil {
		return nil, false, fmt.Errorf("read revenue by day: %w", err)
	}
	if more = len(list) == most; more {
		end := list[most-1]
		w.after = key{end.PartnerID, 1, dayOf(end.Day), end.Tier, end.Currency}
	}
	if w.Own {
		for i := range list {
			list[i].Sums = list[i].own()
		}
	}
	return slices.DeleteFunc(list, func(r Row) bool { return r.Sums == Sums{} }), more, nil
}

func scanRow(r *sqldb.Row, v *Row) error {
	var day int64
	err := r.Scan(&v.PartnerID, &day, &v.Tier, &v.Currency, &v.Sales, &v.Revenue, &v.Direct, &v.Refunds, &v.Fees,
		&v.Borne, &v.Share, &v.Undivided)
	v.Day = timeOfDay(day)
	return err
}
