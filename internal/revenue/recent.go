package revenue

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Period names a period up to today.
type Period int

// The periods. Weeks begin on Monday.
const (
	Today Period = iota
	ThisWeek
	ThisMonth
)

// Periods lists the periods.
var Periods = [...]Period{Today, ThisWeek, ThisMonth}

// Begin returns the first day of the period that contains a day.
func (p Period) Begin(day time.Time) time.Time {
	switch p {
	case ThisWeek:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case ThisMonth:
		return day.AddDate(0, 0, 1-day.Day())
	case Today:
	}
	return day
}

// Compared are the sums of a period, and of all of the period before.
type Compared struct{ Now, Before Sums }

// Recent are the sums of one currency, by period.
type Recent struct {
	Currency string
	Of       [len(Periods)]Compared
}

// sales returns the number of sales of this month and the one before.
func (r Recent) sales() int64 { return r.Of[ThisMonth].Now.Sales + r.Of[ThisMonth].Before.Sales }

// RecentReport is the result of Recent.
type RecentReport struct {
	List      []Recent  // those with most sales first
	CountedTo time.Time // as in Report
}

// Recent returns the sums of today, this week and this month, each with the period before. The query has
// the partner; its days do not matter.
func (b *Store) Recent(ctx context.Context, q Query) (RecentReport, error) {
	today := timeOfDay(dayOf(b.Now()))
	var begin, before [len(Periods)]time.Time
	first := today
	for _, p := range Periods {
		begin[p] = p.Begin(today)
		before[p] = p.Begin(begin[p].AddDate(0, 0, -1))
		first = slices.MinFunc([]time.Time{first, before[p]}, time.Time.Compare)
	}
	q.First = first
	q.Last = today
	q.By = ByDay
	found, err := b.Read(ctx, q)
	if err != nil {
		return RecentReport{}, err
	}
	report := RecentReport{CountedTo: found.CountedTo}
	for _, row := range found.Rows {
		i, ok := slices.BinarySearchFunc(report.List, row.Currency, func(r Recent, currency string) int {
			return strings.Compare(r.Currency, currency)
		})
		if !ok {
			report.List = slices.Insert(report.List, i, Recent{Currency: row.Currency})
		}
		for _, p := range Periods {
			switch of := &report.List[i].Of[p]; {
			case !row.Day.Before(begin[p]):
				of.Now.Plus(row.Sums)
			case !row.Day.Before(before[p]):
				of.Before.Plus(row.Sums)
			}
		}
	}
	slices.SortStableFunc(report.List, func(x, y Recent) int { return cmp.Compare(y.sales(), x.sales()) })
	return report, nil
}
