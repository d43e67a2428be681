package stats

import (
	"context"
	"fmt"
	"math"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Sales is what became of licenses that were sold on a day, or in a span of days.
type Sales struct {
	Sold          int64
	ActivatedSoon int64 // of those sold: activated within seven days so far
	Refunded      int64 // of those sold: refunded now, with all their purchases
}

func (s *Sales) plus(o Sales) {
	s.Sold += o.Sold
	s.ActivatedSoon += o.ActivatedSoon
	s.Refunded += o.Refunded
}

// Rate is a part of what was sold in percent, 0 where nothing was.
func (s Sales) Rate(part int64) float64 {
	if s.Sold == 0 {
		return 0
	}
	return 100 * float64(part) / float64(s.Sold)
}

// DaySales is the sales of a day.
type DaySales struct {
	At time.Time // its beginning, in UTC
	Sales
}

// SalesNumbers is the sales of a span of days: by day, by partner, and in all.
type SalesNumbers struct {
	Days     []DaySales      // oldest first, each day of the span
	Partners map[int64]Sales // of the whole span, those who sold something
	Total    Sales
}

// MaxSalesDays is how many days can be asked for.
const MaxSalesDays = 366

// CountRefund moves the counter of licenses that are refunded, by the day of the sale. The
// caller has locked the partner, so that nobody else moves its counters meanwhile.
func CountRefund(tx *sqldb.Tx, partnerID int64, soldAt time.Time, change int64) {
	tx.Queue(`INSERT INTO stats_refunds (partner_id, day, refunded) VALUES ($1, $2, $3)
		ON CONFLICT (partner_id, day) DO UPDATE SET refunded = stats_refunds.refunded + excluded.refunded`, partnerID, dayOf(soldAt), change)
}

// Sales reads the sales of the last days, of one partner or of all (0). It reads counters
// of days and what is not counted yet: its cost does not grow with the licenses.
func (b *Book) Sales(ctx context.Context, partnerID int64, days int) (SalesNumbers, error) {
	first := dayOf(b.Now()) - int64(days) + 1
	n := SalesNumbers{}
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		n = SalesNumbers{Days: make([]DaySales, days), Partners: map[int64]Sales{}}
		for i := range n.Days {
			n.Days[i].At = timeOfDay(first + int64(i))
		}
		if err := n.read(ctx, tx, partnerID, first); err != nil {
			return err
		}
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
			if partnerID == 0 || f.PartnerID == partnerID {
				t.event(f)
			}
		}
		for k, d := range t.days {
			n.add(first, k.partnerID, k.at, Sales{Sold: d.Sold, ActivatedSoon: d.ActivatedSoon})
		}
		return nil
	})
	if err != nil {
		return SalesNumbers{}, fmt.Errorf("read the sales: %w", err)
	}
	return n, nil
}

// read adds what is counted.
func (n *SalesNumbers) read(ctx context.Context, tx *sqldb.Tx, partnerID, first int64) error {
	type row struct {
		partnerID, day int64
		Sales
	}
	where := `day >= $1 AND ($2 = 0 OR partner_id = $2)`
	if partnerID != 0 {
		where = `partner_id = $2 AND day >= $1`
	}
	sold := sqldb.QueueQuery(tx, func(r *sqldb.Row, s *row) error { return r.Scan(&s.partnerID, &s.day, &s.Sold, &s.ActivatedSoon) },
		`SELECT partner_id, day, sold, activated_soon FROM stats_days WHERE `+where, first, partnerID)
	refunded, err := sqldb.All(ctx, tx, func(r *sqldb.Row, s *row) error { return r.Scan(&s.partnerID, &s.day, &s.Refunded) },
		`SELECT partner_id, day, refunded FROM stats_refunds WHERE `+where, first, partnerID)
	if err != nil {
		return err
	}
	list, err := sold.All(ctx)
	for _, s := range append(list, refunded...) {
		n.add(first, s.partnerID, s.day, s.Sales)
	}
	return err
}

// add adds the sales of a partner's day.
func (n *SalesNumbers) add(first, partnerID, day int64, s Sales) {
	if i := day - first; i < 0 || i >= int64(len(n.Days)) || s == (Sales{}) {
		return
	}
	n.Days[day-first].plus(s)
	of := n.Partners[partnerID]
	of.plus(s)
	n.Partners[partnerID] = of
	n.Total.plus(s)
}
