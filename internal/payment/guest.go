package payment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// Move moves the orders and refund requests of a user to another one, in the transaction that merges
// the two. If both have the same order open, it stays, and a payment for it becomes a payment problem.
// The caller has locked both users.
func Move(ctx context.Context, tx *sqldb.Tx, from, into int64) (int64, error) {
	n, err := tx.Exec(ctx, `UPDATE checkouts SET user_id = $2 WHERE user_id = $1 AND NOT EXISTS (
		SELECT 1 FROM checkouts AS o WHERE o.user_id = $2 AND o.partner_id = checkouts.partner_id
		AND o.tier = checkouts.tier AND o.license_key = checkouts.license_key AND o.state = checkouts.state
		AND o.state = `+sqldb.Literal(Open)+`)`, from, into)
	if err != nil {
		return 0, fmt.Errorf("move the orders of user %d to user %d: %w", from, into, err)
	}
	refundrequest.Move(tx, from, into)
	return n, nil
}

// CountOrders counts the orders of a user.
func CountOrders(ctx context.Context, r sqldb.Reader, userID int64) (int64, error) {
	n, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT count(*) FROM checkouts WHERE user_id = $1`, userID)
	if err != nil {
		return 0, fmt.Errorf("count the orders of user %d: %w", userID, err)
	}
	return n, nil
}

// TellGuest mails the receipt and the link to a guest whose order is sold, once. It does nothing for
// people with an account. The page after the payment does not wait for the job.
func (b *Store) TellGuest(ctx context.Context, c Checkout) error {
	if b.Accounts == nil || c.State != Sold || c.LicenseKey != "" {
		return nil
	}
	return b.Accounts.GuestPaid(ctx, c.UserID, account.Bought{
		Item: c.Item,
		Next: "/checkout/" + c.Ref, // which leads to the license
		Facts: []mail.Fact{
			{Name: "Receipt", Value: strconv.FormatInt(c.PurchaseID, 10)},
			{Name: "Date", Value: c.PaidAt.UTC().Format("2 January 2006")},
			{Name: "For", Value: c.Item},
			{Name: "Amount", Value: money.Text(c.Amount, c.Currency)},
		},
	})
}

// tellGuests finds the guests whose orders are sold and who have no mail. Orders are sold in sets, and
// by nodes of the previous release, which know no guests.
func (b *Store) tellGuests(ctx context.Context) (int, error) {
	if b.Accounts == nil {
		return 0, nil
	}
	err := account.EachUnpaid(ctx, b.DB, b.Now(), func(ids []int64) error {
		list, err := sqldb.All(ctx, b.DB, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts
			WHERE user_id = ANY($1) AND state = `+sqldb.Literal(Sold), ids)
		for _, c := range list {
			err = errors.Join(err, b.TellGuest(ctx, c))
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("mail guests who have paid: %w", err)
	}
	return 0, nil
}

// guestsKept is how long a guest is stored who has not paid, after the checkout ended.
const guestsKept = 7 * 24 * time.Hour

// pruneGuests deletes guests who have not paid, and the addresses of erased ones. Orders stay, without
// a person.
func pruneGuests(ctx context.Context, db *sqldb.DB, now time.Time) (deleted int64, err error) {
	if err := account.EndErased(ctx, db, now); err != nil {
		return 0, err
	}
	before := now.Add(-guestsKept)
	unfinished := func(tx *sqldb.Tx, ids []int64) ([]int64, error) {
		return sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT user_id FROM checkouts
			WHERE user_id = ANY($1) AND (state <> `+sqldb.Literal(Closed)+` OR updated_at > $2)`, ids, before)
	}
	err = account.EachUnpaid(ctx, db, before, func(ids []int64) error {
		n, err := account.DeleteUnpaid(ctx, db, ids, unfinished)
		deleted += n
		return err
	})
	return deleted, err
}
