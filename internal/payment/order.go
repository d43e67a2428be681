package payment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// FindOrders selects orders: the checkouts of the shop, free ones included. The zero value selects
// all.
type FindOrders struct {
	State     OrderState
	PartnerID int64
	Users     []int64   // the buyers; none: all
	From, To  time.Time // when it was begun: From inclusive, To exclusive; zero: no bound
}

// FoundOrders is one page of orders, newest first.
type FoundOrders struct {
	Orders []Checkout
	Next   int64 // the number before which the next page begins; 0: there is none

	// SearchedTo is set if the search stopped before the page was full: the time reached. Next
	// continues from there.
	SearchedTo time.Time
}

// FindOrders returns a page of orders, newest first, before a number; 0 starts with the newest. It
// costs the same at any depth.
func (b *Store) FindOrders(ctx context.Context, f FindOrders, before int64, limit int) (FoundOrders, error) {
	var found FoundOrders
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := sqldb.IDsBetween(ctx, tx, "checkouts", f.From, f.To)
		if err != nil {
			return err
		}
		w := paging.Chunks[Checkout]{High: high, Limit: limit, Fits: f.fits, At: func(c Checkout) int64 { return c.ID }}
		if before > 0 {
			w.High = min(high, before-1)
		}
		w.Read = func(high int64, n int) ([]Checkout, error) {
			sql, args := f.query(checkoutColumns, low, high, n)
			return sqldb.All(ctx, tx, scanCheckout, sql, args...)
		}
		rows, next, stopped, err := w.Page()
		if err != nil {
			return err
		}
		found = FoundOrders{Orders: rows, Next: next}
		if stopped {
			found.SearchedTo = w.Last.CreatedAt
		}
		return restate(ctx, tx, rows)
	})
	if err != nil {
		return FoundOrders{}, fmt.Errorf("find orders: %w", err)
	}
	return found, nil
}

// restate derives the states of those orders whose stored state may be outdated.
func restate(ctx context.Context, tx *sqldb.Tx, list []Checkout) error {
	var stale []Checkout
	var at []int
	for i, c := range list {
		if c.stale() {
			stale = append(stale, c)
			at = append(at, i)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	if err := derive(ctx, tx, stale); err != nil {
		return err
	}
	for n, i := range at {
		list[i].Order = stale[n].Order
	}
	return nil
}

// query returns the statement for the next rows between two ids. One condition is served by an
// index, with the order: pairs are compared, so that PostgreSQL cannot walk all rows by id.
func (f FindOrders) query(columns string, low, high int64, n int) (sql string, args []any) {
	by := ""
	args = []any{low, high, n}
	switch {
	case len(f.Users) > 1:
		return `SELECT ` + columns + ` FROM checkouts WHERE id + 0 >= $1 AND id + 0 <= $2 AND user_id = ANY($4)
			ORDER BY id + 0 DESC LIMIT $3`, append(args, f.Users)
	case len(f.Users) == 1:
		by = "user_id"
		args = append(args, f.Users[0])
	case f.PartnerID != 0:
		by = "partner_id"
		args = append(args, f.PartnerID)
	case f.State != 0:
		by = "order_state"
		args = append(args, int(f.State))
	default:
		return `SELECT ` + columns + ` FROM checkouts WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT $3`, args
	}
	return `SELECT ` + columns + ` FROM checkouts WHERE (` + by + `, id) >= ($4, $1) AND (` + by + `, id) <= ($4, $2)
		ORDER BY ` + by + ` DESC, id DESC LIMIT $3`, args
}

// fits checks the conditions that no index serves.
func (f FindOrders) fits(c Checkout) bool {
	return (f.State == 0 || c.Order == f.State) && (f.PartnerID == 0 || c.PartnerID == f.PartnerID) &&
		(f.Users == nil || slices.Contains(f.Users, c.UserID)) &&
		!c.CreatedAt.Before(f.From) && (f.To.IsZero() || c.CreatedAt.Before(f.To))
}

// Total is the number of orders of one currency and state, and their price.
type Total struct {
	Currency string
	State    OrderState
	Orders   int64
	Amount   int64 // the price
	Paid     int64 // the part that was paid
}

// Totals are the sums of a list of orders.
type Totals struct {
	List []Total // by currency and state
	More bool    // older orders were left out
}

// maxTotalled is the maximum number of orders that totals read.
const maxTotalled = 10_000

// OrderTotals returns the totals of the newest orders, at most maxTotalled that an index finds.
func (b *Store) OrderTotals(ctx context.Context, f FindOrders) (t Totals, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := sqldb.IDsBetween(ctx, tx, "checkouts", f.From, f.To)
		if err != nil {
			return err
		}
		sql, args := f.totals(low, high)
		t = Totals{}
		type row struct {
			Total
			read int64
		}
		list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, v *row) error {
			return r.Scan(&v.Currency, (*int)(&v.State), &v.Orders, &v.Amount, &v.Paid, &v.read)
		}, sql, args...)
		var read int64
		for _, v := range list {
			read += v.read
			if v.Orders > 0 {
				t.List = append(t.List, v.Total)
			}
		}
		t.More = read >= maxTotalled
		return err
	})
	if err != nil {
		return Totals{}, fmt.Errorf("count orders: %w", err)
	}
	return t, nil
}

// totals returns the statement for totals. The rows that the index finds are bounded, whether they
// fit or not.
func (f FindOrders) totals(low, high int64) (sql string, args []any) {
	inner, args := f.query(
		`currency, order_state, amount, paid, partner_id, user_id, created_at`, low, high, maxTotalled,
	)
	args = append(args, f.From)
	sql = `created_at >= $` + strconv.Itoa(len(args))
	for _, c := range []struct {
		name  string
		value any
		set   bool
	}{
		{"created_at < ", f.To, !f.To.IsZero()},
		{"order_state = ", int(f.State), f.State != 0},
		{"partner_id = ", f.PartnerID, f.PartnerID != 0},
	} {
		if c.set {
			args = append(args, c.value)
			sql += ` AND ` + c.name + `$` + strconv.Itoa(len(args))
		}
	}
	return `SELECT currency, order_state, CAST(sum(fits) AS bigint), CAST(sum(amount * fits) AS bigint),
			CAST(sum(paid * fits) AS bigint), count(*)
		FROM (SELECT currency, order_state, amount, paid, CASE WHEN ` + sql + ` THEN 1 ELSE 0 END AS fits
			FROM (` + inner + `) AS newest) AS checked
		GROUP BY currency, order_state ORDER BY currency, order_state`, args
}

// maxWaitingOrders is the maximum number of orders that a buyer's list shows as waiting.
const maxWaitingOrders = 10

// Waiting returns a buyer's orders that wait for a payment, newest first: those with a payment page
// that can still be paid, those that wait for a bank, and payments that need a person.
func (b *Store) Waiting(ctx context.Context, userID int64) ([]Checkout, error) {
	list, err := sqldb.All(ctx, b.DB, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts
		WHERE user_id = $1 AND (state = $2 AND session_id <> '' AND expires_at > $3 OR state = $4
			OR state = $5 AND order_state <> $6)
		ORDER BY id DESC LIMIT $7`, userID, int(Open), b.Now(), int(Pending), int(Unsold), int(OrderRefunded),
		maxWaitingOrders)
	if err != nil {
		return nil, fmt.Errorf("find the orders that wait for a payment: %w", err)
	}
	return list, nil
}
