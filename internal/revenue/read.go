package revenue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// maxUncounted is the number of postings that a read adds because the job has not counted them yet.
const maxUncounted = 2000

// MaxDays is the maximum number of days of a query.
const MaxDays = 400

// By is the division of a report into rows.
type By int

// The divisions. Each has a row per currency.
const (
	ByDay By = iota
	ByPartner
	ByPlan
)

// Query selects sums from one day to another, including both.
type Query struct {
	PartnerID   int64 // 0: all
	First, Last time.Time
	By          By
	Own         bool // for the partner: without fees that it does not bear
}

// Row is one row of a report. Fields that the report is not divided by are zero.
type Row struct {
	Day       time.Time
	PartnerID int64
	Tier      int
	Currency  string
	Sums
}

// Report is the result of a query.
type Report struct {
	Rows []Row // without those that are zero

	// CountedTo is not zero while the job lags behind: later postings are missing.
	CountedTo time.Time
}

// Read returns sums in one snapshot: those of the table, and the postings not counted yet. Its cost does
// not grow with the number of sales.
func (b *Store) Read(ctx context.Context, q Query) (Report, error) {
	first := dayOf(q.First)
	last := dayOf(q.Last)
	var t tally
	var countedTo time.Time
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		t = tally{}
		if err := t.addCounted(ctx, tx, q, first, last); err != nil {
			return err
		}
		countedTo, err = t.addUncounted(ctx, tx, q, first, last)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("read revenue: %w", err)
	}
	if q.Own {
		for _, s := range t {
			*s = s.own()
		}
	}
	return Report{Rows: t.rows(), CountedTo: countedTo}, nil
}

// columns returns the columns of the key of a row of the report, and those that it is grouped by.
func (q Query) columns() (key, group string) {
	switch q.By {
	case ByPartner:
		return `partner_id, 0, 0`, `partner_id`
	case ByPlan:
		return `partner_id, 0, tier`, `partner_id, tier`
	case ByDay:
	}
	return `0, day, 0`, `day`
}

// key returns the key of a row of the report.
func (q Query) key(k key) key {
	switch q.By {
	case ByPartner:
		return key{partnerID: k.partnerID, currency: k.currency}
	case ByPlan:
		return key{partnerID: k.partnerID, tier: k.tier, currency: k.currency}
	case ByDay:
	}
	return key{day: k.day, currency: k.currency}
}

// spans returns spans of rows that have all days once: blocks, and the days before and after them.
func (q Query) spans(first, last int64) (list []any) {
	from := (first + block - 1) / block * block
	to := (last + 1) / block * block // the first day after the blocks
	if q.By == ByDay || from >= to {
		from = last + 1
		to = from
	}
	return []any{first, from - 1, from, to - 1, to, last}
}

const sumColumns = `CAST(sum(sales) AS bigint), CAST(sum(revenue) AS bigint), CAST(sum(direct) AS bigint),
	CAST(sum(refunds) AS bigint), CAST(sum(fees) AS bigint), CAST(sum(borne) AS bigint), CAST(sum(share) AS bigint),
	CAST(sum(undivided) AS bigint)`

// addCounted adds the sums of the table. The days of all partners have rows of their own.
func (t tally) addCounted(ctx context.Context, tx *sqldb.Tx, q Query, first, last int64) error {
	columns, group := q.columns()
	sellers := `SELECT CAST($7 AS bigint)`
	if q.By != ByDay && q.PartnerID == 0 {
		// The rows of a partner are adjacent. The recursion reads only those of the days, partner by partner.
		sellers = `SELECT min(partner_id) FROM revenue_sums WHERE partner_id > $7
			UNION ALL SELECT (SELECT min(partner_id) FROM revenue_sums WHERE partner_id > sellers.id)
			FROM sellers WHERE sellers.id IS NOT NULL`
	}
	text := `WITH RECURSIVE sellers(id) AS (` + sellers + `),
		spans(length, low, high) AS (VALUES (1, CAST($1 AS bigint), CAST($2 AS bigint)),
			(` + strconv.Itoa(block) + `, CAST($3 AS bigint), CAST($4 AS bigint)),
			(1, CAST($5 AS bigint), CAST($6 AS bigint)))
		SELECT ` + columns + `, currency, ` + sumColumns + ` FROM sellers CROSS JOIN spans CROSS JOIN revenue_sums
		WHERE partner_id = sellers.id AND days = length AND day BETWEEN low AND high
		GROUP BY ` + group + `, currency`
	return sqldb.Each(ctx, tx, func(r *sqldb.Row) error {
		var k key
		var s Sums
		err := r.Scan(&k.partnerID, &k.day, &k.tier, &k.currency, &s.Sales, &s.Revenue, &s.Direct, &s.Refunds, &s.Fees,
			&s.Borne, &s.Share, &s.Undivided)
		t.sum(k, s)
		return err
	}, text, append(q.spans(first, last), q.PartnerID)...)
}

// sum adds to one row of the report.
func (t tally) sum(k key, s Sums) {
	if t[k] == nil {
		t[k] = new(Sums)
	}
	t[k].Plus(s)
}

// addUncounted adds the postings that the job has not counted yet. If there are too many, it adds the
// first ones and returns the time up to which everything is counted.
func (t tally) addUncounted(
	ctx context.Context, tx *sqldb.Tx, q Query, first, last int64,
) (countedTo time.Time, err error) {
	at, err := cursor(ctx, tx)
	if err != nil {
		return countedTo, err
	}
	list, err := ledger.FiguresAfter(ctx, tx, at, math.MaxInt64, maxUncounted)
	if err != nil {
		return countedTo, err
	}
	fresh := tally{}
	for _, f := range list {
		fresh.posting(f)
	}
	for k, s := range fresh {
		ours := k.partnerID == q.PartnerID || q.PartnerID == 0
		if k.partnerID != everyone && k.days == 1 && ours && k.day >= first && k.day <= last {
			t.sum(q.key(k), *s)
		}
	}
	if len(list) == maxUncounted {
		countedTo = list[len(list)-1].At
	}
	return countedTo, nil
}

// Totals adds up rows per currency, in the order of the currencies.
func Totals(rows []Row) []Row {
	t := tally{}
	for _, r := range rows {
		t.sum(key{currency: r.Currency}, r.Sums)
	}
	return t.rows()
}

// rows returns the rows that are not zero, in the order of their keys.
func (t tally) rows() []Row {
	list := make([]Row, 0, len(t))
	for k, s := range t {
		if *s == (Sums{}) {
			continue
		}
		r := Row{PartnerID: k.partnerID, Tier: k.tier, Currency: k.currency, Sums: *s}
		if k.day != 0 {
			r.Day = timeOfDay(k.day)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y Row) int {
		return cmp.Or(
			x.Day.Compare(y.Day), cmp.Compare(x.PartnerID, y.PartnerID), cmp.Compare(x.Tier, y.Tier),
			cmp.Compare(x.Currency, y.Currency),
		)
	})
	return list
}
