package license

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// Nodes of the previous release post nothing, and do not know the columns of these conditions.
const (
	unpostedSale   = `posted = FALSE AND amount_cents <> 0`
	unpostedRefund = `(posted_at < created_at OR posted_at < reversed_at)`
)

// UnpostedSale is a sale that is not posted.
type UnpostedSale struct {
	Sale
	Links int64
	Steps []Returned // after each refund and reversal, the first one first
}

// Returned counts refunded links of a sale.
type Returned struct {
	Links int64
	At    time.Time // of the last refund or reversal
}

// countOf counts the links of a sale.
type countOf struct{ saleID, links, back int64 }

func scanCount(r *sqldb.Row, c *countOf) error { return r.Scan(&c.saleID, &c.links, &c.back) }

// refundOf is a refund of a link of a sale. Its reversal is zero if it still holds.
type refundOf struct {
	saleID              int64
	createdAt, reversed time.Time
}

func scanRefundOf(r *sqldb.Row, f *refundOf) error {
	return r.Scan(&f.saleID, &f.createdAt, &f.reversed)
}

// UnpostedPartner returns a partner with sales that are not posted; 0: there is none.
func UnpostedPartner(ctx context.Context, r sqldb.Reader) (int64, error) {
	id, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT partner_id FROM purchases WHERE `+unpostedSale+`
		ORDER BY partner_id, id LIMIT 1`)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return 0, fmt.Errorf("look for sales that are not posted: %w", err)
	}
	return id, nil
}

// Unposted returns some of a partner's sales that are not posted. The transaction has locked the
// partner.
func Unposted(ctx context.Context, tx *sqldb.Tx, partnerID int64, most int) ([]UnpostedSale, error) {
	sales, err := sqldb.All(ctx, tx, scanSale, `SELECT `+saleColumns+` FROM purchases
		WHERE partner_id = $1 AND `+unpostedSale+` ORDER BY id LIMIT $2`, partnerID, most)
	if err != nil {
		return nil, fmt.Errorf("read sales that are not posted: %w", err)
	}
	list := make([]UnpostedSale, len(sales))
	ids := make([]int64, len(sales))
	of := make(map[int64]*UnpostedSale, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
		list[i].Sale = s
		of[s.ID] = &list[i]
	}
	counts := sqldb.QueueQuery(tx, scanCount, `SELECT purchase_id, count(*), count(CASE WHEN refund_id <> 0 THEN 1 END)
		FROM purchase_links WHERE purchase_id = ANY($1) GROUP BY purchase_id`, ids)
	refunds := sqldb.QueueQuery(tx, scanRefundOf, `SELECT k.purchase_id, f.created_at, f.reversed_at
		FROM purchase_links AS k JOIN refund_items AS i ON i.license_id = k.license_id AND i.seq = k.seq
		JOIN refunds AS f ON f.id = i.refund_id WHERE k.purchase_id = ANY($1)`, ids)
	rows, err := counts.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the refunded licenses of sales: %w", err)
	}
	returned, err := refunds.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the refunds of sales: %w", err)
	}
	for _, f := range returned {
		u := of[f.saleID]
		u.Steps = append(u.Steps, Returned{1, f.createdAt})
		if !f.reversed.IsZero() {
			u.Steps = append(u.Steps, Returned{-1, f.reversed})
		}
	}
	for _, c := range rows {
		of[c.saleID].Links = c.links
		of[c.saleID].sumUp(c.back)
	}
	return list, nil
}

// sumUp adds up the steps. back counts the links that are refunded now.
func (u *UnpostedSale) sumUp(back int64) {
	slices.SortStableFunc(u.Steps, func(x, y Returned) int { return x.At.Compare(y.At) })
	for i := 1; i < len(u.Steps); i++ {
		u.Steps[i].Links += u.Steps[i-1].Links
	}
	if u.Steps == nil && back > 0 {
		u.Steps = []Returned{{}}
	}
	if n := len(u.Steps); n > 0 {
		u.Steps[n-1].Links = back
	}
}

// MarkPosted queues the mark of posted sales.
func MarkPosted(tx *sqldb.Tx, sales []int64) {
	tx.Queue(`UPDATE purchases SET posted = TRUE WHERE id = ANY($1)`, sales)
}

// UnpostedRefunds returns some of the refunds that are not posted, without their licenses.
func UnpostedRefunds(ctx context.Context, r sqldb.Reader, most int) ([]Refund, error) {
	list, err := sqldb.All(ctx, r, scanRefund, `SELECT `+refundColumns+` FROM refunds WHERE `+unpostedRefund+`
		ORDER BY id LIMIT $1`, most)
	if err != nil {
		return nil, fmt.Errorf("find refunds that are not posted: %w", err)
	}
	return list, nil
}

// PostRefund posts a refund, or its reversal, that a node of the previous release wrote.
func (r *Store) PostRefund(ctx context.Context, f Refund) error {
	err := r.write(ctx, func(tx *sqldb.Tx) error {
		if err := ledger.Lock(ctx, tx, f.PartnerID); err != nil {
			return err
		}
		ids := sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT k.purchase_id FROM refund_items AS i
			JOIN purchase_links AS k ON k.license_id = i.license_id AND k.seq = i.seq WHERE i.refund_id = $1`, f.ID)
		t := &partnerTx{tx: tx, now: r.Now()}
		t.counters.PartnerID = f.PartnerID
		var err error
		if t.returned, err = ids.All(ctx); err != nil {
			return err
		}
		at := f.CreatedAt
		if f.ReversedAt.After(at) {
			at = f.ReversedAt
		}
		if err := t.postReturned(ctx, f.ID, at); err != nil {
			return err
		}
		tx.Queue(`UPDATE refunds SET posted_at = $2 WHERE id = $1`, f.ID, at)
		return nil
	})
	if err != nil {
		return fmt.Errorf("post refund %d: %w", f.ID, err)
	}
	return nil
}

// Kept is what a sale still gives its buyer.
type Kept struct {
	Held     bool // a license of it is on hold
	Refunded bool // no link of it is open
}

// KeptOf returns what sales still give their buyers.
func KeptOf(ctx context.Context, r sqldb.Reader, sales []int64) (map[int64]Kept, error) {
	kept := make(map[int64]Kept, len(sales))
	err := sqldb.Each(ctx, r, func(r *sqldb.Row) error {
		var id, held, open int64
		if err := r.Scan(&id, &held, &open); err != nil {
			return err
		}
		kept[id] = Kept{Held: held > 0, Refunded: open == 0}
		return nil
	}, `SELECT k.purchase_id, count(CASE WHEN l.held <> 0 THEN 1 END), count(CASE WHEN k.refund_id = 0 THEN 1 END)
		FROM purchase_links AS k JOIN licenses AS l ON l.id = k.license_id
		WHERE k.purchase_id = ANY($1) GROUP BY k.purchase_id`, sales)
	if err != nil {
		return nil, fmt.Errorf("read the licenses of sales: %w", err)
	}
	return kept, nil
}
