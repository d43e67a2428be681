package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Begin stores the moment from which sales count in the balances: the first start with the ledger. It
// only reads when that is stored, so a start on a full disk works.
func Begin(ctx context.Context, db *sqldb.DB, now time.Time) error {
	at, err := From(ctx, db)
	if err != nil || !at.IsZero() {
		return err
	}
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE ledger_state SET began_at = $1 WHERE id = 1 AND began_at = 0`, now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("begin the ledger: %w", err)
	}
	return nil
}

// From returns the moment from which sales count in the balances; zero: the ledger has not begun.
func From(ctx context.Context, r sqldb.Reader) (time.Time, error) {
	b, err := ReadBeginning(ctx, r)
	return b.From, err
}

// DueSale is a sale that may become payable now, or that lacks the fee of its payment.
type DueSale struct{ PurchaseID, PartnerID int64 }

// DueSales returns some of the sales that must be checked now whether they become payable, those that
// wait longest first.
func DueSales(ctx context.Context, r sqldb.Reader, now time.Time, most int) ([]DueSale, error) {
	list, err := sqldb.All(ctx, r, scanDue, `SELECT purchase_id, partner_id FROM ledger_sales
		WHERE look_at <> 0 AND look_at <= $1 ORDER BY look_at LIMIT $2`, now, most)
	if err != nil {
		return nil, fmt.Errorf("find sales that become payable: %w", err)
	}
	return list, nil
}

// FeesDue returns some of the sales without the fee of their payment, if the provider must be asked for
// it now. Those that wait longest come first.
func FeesDue(ctx context.Context, r sqldb.Reader, now time.Time, most int) ([]DueSale, error) {
	list, err := sqldb.All(ctx, r, scanDue, `SELECT purchase_id, partner_id FROM ledger_sales
		WHERE fee_look_at <> 0 AND fee_look_at <= $1 ORDER BY fee_look_at LIMIT $2`, now, most)
	if err != nil {
		return nil, fmt.Errorf("find sales whose fee is not known: %w", err)
	}
	return list, nil
}

func scanDue(r *sqldb.Row, d *DueSale) error { return r.Scan(&d.PurchaseID, &d.PartnerID) }

// Divisible returns the partners with undivided sales and with terms for them.
func Divisible(ctx context.Context, r sqldb.Reader, d Defaults, now time.Time) (list []int64, err error) {
	for last := int64(0); ; {
		// One partner at a time: a partner may have a million such sales.
		last, err = sqldb.One(ctx, r, sqldb.Value[int64], `SELECT partner_id FROM ledger_sales
			WHERE share_bp = -1 AND partner_id > $1 ORDER BY partner_id LIMIT 1`, last)
		if errors.Is(err, sqldb.ErrNone) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find partners with undivided sales: %w", err)
		}
		terms, err := History(ctx, r, last)
		if err != nil {
			return nil, err
		}
		if Current(terms, d, now) != nil {
			list = append(list, last)
		}
	}
}

// Lock locks a partner for changes of its ledger, as changes of its licenses do. A removed partner has
// no row and needs no lock.
func Lock(ctx context.Context, tx *sqldb.Tx, partnerID int64) error {
	_, err := partner.Lock(tx, partnerID).One(ctx)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("lock partner %d: %w", partnerID, err)
	}
	return nil
}
