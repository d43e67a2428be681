package stats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Sales describes the licenses sold on a day, or in a span of days.
type Sales struct {
	Sold          int64
	ActivatedSoon int64 // of those sold: activated within seven days so far
	Refunded      int64 // of those sold: now refunded, with all their purchases
}

func (s *Sales) plus(o Sales) {
	s.Sold += o.Sold
	s.ActivatedSoon += o.ActivatedSoon
	s.Refunded += o.Refunded
}

// ActivationRate returns the fraction of sold licenses that were activated within seven days so
// far. It returns false if nothing was sold.
func (s Sales) ActivationRate() (float64, bool) { return s.part(s.ActivatedSoon) }

// RefundRate returns the fraction of sold licenses that are refunded, likewise.
func (s Sales) RefundRate() (float64, bool) { return s.part(s.Refunded) }

func (s Sales) part(n int64) (float64, bool) {
	if s.Sold == 0 {
		return 0, false
	}
	return float64(n) / float64(s.Sold), true
}

// DaySales is the sales of a day.
type DaySales struct {
	At time.Time // its start, in UTC
	Sales
}

// PartnerSales is the sales of a partner.
type PartnerSales struct {
	PartnerID int64
	Sales
}

// SalesNumbers contains the sales of a span of days: by day, by partner, and in total.
type SalesNumbers struct {
	Days     []DaySales     // every day of the span, oldest first
	Partners []PartnerSales // of the whole span, only partners with sales, the largest first
	Total    Sales

	// CountedTo is not zero while the job lags behind: later sales and activations are missing.
	CountedTo time.Time
}

// MaxSalesDays is the maximum number of days in a query, including today.
const MaxSalesDays = 366

// CountRefund changes the counter of refunded licenses on the day of the sale. The caller must have
// locked the partner, so that no other transaction changes its counters meanwhile.
func CountRefund(tx *sqldb.Tx, partnerID int64, soldAt time.Time, change int64) {
	tx.Queue(`INSERT INTO stats_refunds (partner_id, day, refunded) VALUES ($1, $2, $3)
		ON CONFLICT (partner_id, day)
		DO UPDATE SET refunded = stats_refunds.refunded + excluded.refunded`, partnerID, dayOf(soldAt), change)
}

// Sales returns the sales of the last days, of one partner or of all (0). It reads the counters of
// days and the rows not counted yet: its cost does not grow with the number of licenses.
func (b *Store) Sales(ctx context.Context, partnerID int64, days int) (SalesNumbers, error) {
	last := dayOf(b.Now())
	var s salesSum
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		s = salesSum{
			partnerID: partnerID,
			first:     last - int64(days) + 1,
			days:      make([]DaySales, days),
			partners:  map[int64]Sales{},
		}
		if err := s.addCounters(ctx, tx, last); err != nil {
			return err
		}
		return s.addUncounted(ctx, tx)
	})
	if err != nil {
		return SalesNumbers{}, fmt.Errorf("read the sales: %w", err)
	}
	return s.numbers(), nil
}

// salesSum adds up sales.
type salesSum struct {
	partnerID int64 // 0: all
	first     int64 // first day
	days      []DaySales
	partners  map[int64]Sales
	countedTo time.Time
}

// salesRow contains the sums of a day, or of a partner.
type salesRow struct {
	key int64
	Sales
}

// SalesQueries returns the statements that read the counters of a span of days, of one partner or
// of all: by day and by partner. The database makes the sums, because there may be a row for each
// partner and day.
func SalesQueries(partnerID, first, last int64) (sold, refunded [2]string, args []any) {
	args = []any{first, last}
	one := ""
	if partnerID != 0 {
		one = ` AND partner_id = $3`
		args = append(args, partnerID)
	}
	by := func(table, sums string) [2]string {
		days := `SELECT day, ` + sums + ` FROM ` + table + ` WHERE day BETWEEN $1 AND $2` + one + ` GROUP BY day`
		if partnerID != 0 {
			return [2]string{
				days,
				`SELECT partner_id, ` + sums + ` FROM ` + table + ` WHERE day BETWEEN $1
					AND $2` + one + ` GROUP BY partner_id`,
			}
		}
		// The rows of a partner are adjacent. They are read partner by partner, not day by day with
		// the sums of all partners in memory.
		return [2]string{days, `WITH RECURSIVE sellers(id) AS (SELECT min(partner_id) FROM ` + table + `
			UNION ALL SELECT (SELECT min(partner_id)
			FROM ` + table + ` WHERE partner_id > sellers.id) FROM sellers WHERE sellers.id IS NOT NULL)
			SELECT sellers.id, ` + sums + ` FROM sellers CROSS JOIN ` + table + ` WHERE partner_id = sellers.id
				AND day BETWEEN $1 AND $2 GROUP BY sellers.id`}
	}
	return by(
			"stats_days",
			`CAST(sum(sold) AS bigint), CAST(sum(activated_soon) AS bigint)`,
		), by(
			"stats_refunds",
			`CAST(sum(refunded) AS bigint)`,
		), args
}

// addCounters adds the counters.
func (s *salesSum) addCounters(ctx context.Context, tx *sqldb.Tx, last int64) error {
	sold, refunded, args := SalesQueries(s.partnerID, s.first, last)
	var results [4]*sqldb.Result[salesRow]
	for i := range sold {
		results[i] = sqldb.QueueQuery(
			tx,
			func(r *sqldb.Row, v *salesRow) error { return r.Scan(&v.key, &v.Sold, &v.ActivatedSoon) },
			sold[i],
			args...)
		results[i+2] = sqldb.QueueQuery(
			tx,
			func(r *sqldb.Row, v *salesRow) error { return r.Scan(&v.key, &v.Refunded) },
			refunded[i],
			args...)
	}
	for i, result := range results {
		rows, err := result.All(ctx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if i%2 == 0 {
				s.days[row.key-s.first].plus(row.Sales)
			} else {
				s.addPartner(row.key, row.Sales)
			}
		}
	}
	return nil
}

// addUncounted adds the rows that the job has not counted yet, up to a limit.
func (s *salesSum) addUncounted(ctx context.Context, tx *sqldb.Tx) error {
	at, err := cursor(ctx, tx, ofEvents)
	if err != nil {
		return err
	}
	events, err := event.Facts(ctx, tx, at, math.MaxInt64, maxUncounted)
	if err != nil {
		return err
	}
	t := newTally()
	for _, f := range events {
		if s.partnerID == 0 || f.PartnerID == s.partnerID {
			t.event(f)
		}
	}
	for k, d := range t.days {
		if i := k.at - s.first; i >= 0 && i < int64(len(s.days)) {
			sales := Sales{Sold: d.Sold, ActivatedSoon: d.ActivatedSoon}
			s.days[i].plus(sales)
			s.addPartner(k.partnerID, sales)
		}
	}
	if len(events) == maxUncounted {
		s.countedTo = events[len(events)-1].At
	}
	return nil
}

func (s *salesSum) addPartner(id int64, sales Sales) {
	sum := s.partners[id]
	sum.plus(sales)
	s.partners[id] = sum
}

// numbers sorts the sums.
func (s *salesSum) numbers() SalesNumbers {
	n := SalesNumbers{Days: s.days, CountedTo: s.countedTo}
	for i := range n.Days {
		n.Days[i].At = timeOfDay(s.first + int64(i))
		n.Total.plus(n.Days[i].Sales)
	}
	for id, sales := range s.partners {
		if sales != (Sales{}) {
			n.Partners = append(n.Partners, PartnerSales{id, sales})
		}
	}
	slices.SortFunc(n.Partners, func(a, b PartnerSales) int {
		return cmp.Or(cmp.Compare(b.Sold, a.Sold), cmp.Compare(a.PartnerID, b.PartnerID))
	})
	return n
}
