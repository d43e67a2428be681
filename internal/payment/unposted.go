package payment

import (
	"context"
	"fmt"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// The previous release posts nothing, and does not know the column posted_at.
const (
	unpostedRefunds  = `posted_at <> updated_at AND checkout_id <> 0`
	unpostedDisputes = `posted_at <> updated_at AND checkout_id <> 0`
)

// Unposted returns some of the checkouts with refunds or disputes that are not posted.
func Unposted(ctx context.Context, r sqldb.Reader) ([]int64, error) {
	refunds, err := sqldb.All(ctx, r, sqldb.Value[int64], `SELECT checkout_id FROM payment_refunds
		WHERE `+unpostedRefunds+` ORDER BY id LIMIT $1`, jobBatch)
	if err != nil {
		return nil, fmt.Errorf("find refunds of payments that are not posted: %w", err)
	}
	disputes, err := sqldb.All(ctx, r, sqldb.Value[int64], `SELECT checkout_id FROM payment_disputes
		WHERE `+unpostedDisputes+` ORDER BY provider_id LIMIT $1`, jobBatch)
	if err != nil {
		return nil, fmt.Errorf("find disputes that are not posted: %w", err)
	}
	return append(refunds, disputes...), nil
}

// Post posts the refunds and disputes of a checkout that a node of the previous release wrote.
func (b *Store) Post(ctx context.Context, checkoutID int64) error {
	c, err := b.byID(ctx, checkoutID)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := ledger.Lock(ctx, tx, c.PartnerID); err != nil {
			return err
		}
		w := &work{book: b, tx: tx, now: b.Now()}
		w.Checkout, err = sqldb.One(ctx, tx, scanCheckout,
			`SELECT `+checkoutColumns+` FROM checkouts WHERE id = $1`+tx.ForUpdate, checkoutID)
		if err != nil {
			return err
		}
		if err := w.load(ctx); err != nil {
			return err
		}
		if err := w.post(ctx); err != nil {
			return err
		}
		MarkPosted(tx, []int64{checkoutID})
		return nil
	})
	if err != nil {
		return fmt.Errorf("post checkout %d: %w", checkoutID, err)
	}
	return nil
}

// MarkPosted queues the mark of all refunds and disputes of checkouts.
func MarkPosted(tx *sqldb.Tx, checkouts []int64) {
	tx.Queue(`UPDATE payment_refunds SET posted_at = updated_at WHERE checkout_id = ANY($1)`, checkouts)
	tx.Queue(`UPDATE payment_disputes SET posted_at = updated_at WHERE checkout_id = ANY($1)`, checkouts)
}

// Taken is a payment of the provider for a purchase.
type Taken struct {
	CheckoutID int64
	Facts      []ledger.Fact
}

// TakenFor returns the payments for purchases, by purchase. The others were not paid here.
func TakenFor(ctx context.Context, tx *sqldb.Tx, purchases []int64) (map[int64]Taken, error) {
	list, err := sqldb.All(ctx, tx, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts
		WHERE purchase_id = ANY($1) AND purchase_id <> 0 AND paid <> 0 AND expires_at <> 0`, purchases)
	if err != nil {
		return nil, fmt.Errorf("find the payments for purchases: %w", err)
	}
	ids := make([]int64, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	refunds := sqldb.QueueQuery(tx, scanRefund, refundsOf, ids)
	disputes := sqldb.QueueQuery(tx, scanDispute, disputesOf, ids)
	back, err := refunds.All(ctx)
	if err != nil {
		return nil, err
	}
	open, err := disputes.All(ctx)
	if err != nil {
		return nil, err
	}
	taken := make(map[int64]Taken, len(list))
	for _, c := range list {
		r, d := ofCheckout(c.ID, back, open)
		taken[c.PurchaseID] = Taken{c.ID, facts(c.Paid, r, d)}
	}
	return taken, nil
}
