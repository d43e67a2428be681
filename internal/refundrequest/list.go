package refundrequest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Store reads and changes requests.
type Store struct {
	DB  *sqldb.DB
	Now func() time.Time

	// Mail is the outbox of emails about requests; nil: none are sent.
	Mail        *mail.Outbox
	PublicURL   string // prefix of links, without a trailing slash
	Marketplace string // its name in emails
}

// isOpen is the condition of the partial index of open requests.
var isOpen = `state = ` + sqldb.Literal(Requested)

// addPayments reads the payments of requests.
func addPayments(ctx context.Context, r sqldb.Reader, list []Request) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]int64, len(list))
	at := map[int64]int{}
	for i := range list {
		ids[i] = list[i].ID
		at[list[i].ID] = i
	}
	type row struct {
		Payment
		request int64
	}
	rows, err := sqldb.All(
		ctx,
		r,
		func(r *sqldb.Row, p *row) error {
			return r.Scan(&p.request, &p.CheckoutID, &p.PurchaseID, &p.Item, &p.Amount, &p.Currency)
		},
		`SELECT request_id, checkout_id, purchase_id, item, amount, currency FROM refund_request_payments
			WHERE request_id = ANY($1) ORDER BY request_id, purchase_id DESC`,
		ids,
	)
	if err != nil {
		return fmt.Errorf("read the payments of refund requests: %w", err)
	}
	for _, p := range rows {
		of := &list[at[p.request]]
		of.Payments = append(of.Payments, p.Payment)
	}
	return nil
}

// read runs a query for requests and adds their payments.
func read(ctx context.Context, r sqldb.Reader, rest string, args ...any) ([]Request, error) {
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM refund_requests `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list refund requests: %w", err)
	}
	return list, addPayments(ctx, r, list)
}

// OfLicense returns the requests of a license, the newest first.
func OfLicense(ctx context.Context, r sqldb.Reader, licenseID int64) ([]Request, error) {
	return read(ctx, r, `WHERE license_id = $1 ORDER BY id DESC`, licenseID)
}

// OpenOf returns the open request of a license.
func OpenOf(ctx context.Context, r sqldb.Reader, licenseID int64) (Request, bool, error) {
	list, err := read(ctx, r, `WHERE license_id = $1 AND `+isOpen, licenseID)
	if err != nil || len(list) == 0 {
		return Request{}, false, err
	}
	return list[0], true, nil
}

// OfPurchases returns the requests that cover one of these purchases, the newest first.
func OfPurchases(ctx context.Context, r sqldb.Reader, purchases []int64) ([]Request, error) {
	return read(ctx, r, `WHERE id IN (SELECT request_id FROM refund_request_payments WHERE purchase_id = ANY($1))
		ORDER BY id DESC`, purchases)
}

// Open returns open requests, the oldest first.
func Open(ctx context.Context, r sqldb.Reader, limit int) ([]Request, error) {
	return read(ctx, r, `WHERE `+isOpen+` ORDER BY id LIMIT $1`, limit)
}

// OfUser returns the requests of a person, the newest first.
func (s *Store) OfUser(ctx context.Context, userID int64) ([]Request, error) {
	return read(ctx, s.DB, `WHERE user_id = $1 ORDER BY id DESC`, userID)
}

// Waiting returns requests that wait for a person, the oldest first.
func Waiting(ctx context.Context, r sqldb.Reader, limit int) ([]Request, error) {
	return read(ctx, r, `WHERE `+isOpen+` AND asked_at = 0 ORDER BY id LIMIT $1`, limit)
}

// Filter selects requests; the zero value selects all.
type Filter struct {
	State     State
	PartnerID int64
	Before    int64 // only older ones than this; 0: from the newest
}

// List returns a page of requests, the newest first, and whether there are more.
func (s *Store) List(ctx context.Context, f Filter, limit int) (list []Request, more bool, err error) {
	where := `id > 0 `
	args := []any{limit + 1}
	for _, c := range []struct {
		column string
		value  int64
	}{{"id <", f.Before}, {"state =", int64(f.State)}, {"partner_id =", f.PartnerID}} {
		if c.value != 0 {
			args = append(args, c.value)
			where += fmt.Sprintf(`AND %s $%d `, c.column, len(args))
		}
	}
	list, err = read(ctx, s.DB, `WHERE `+where+`ORDER BY id DESC LIMIT $1`, args...)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// Change runs a change of a request under the lock of its partner, which serializes all changes of
// requests with those of licenses and payments.
func (s *Store) Change(ctx context.Context, id int64, change func(*sqldb.Tx, Request) error) error {
	first, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := partner.Lock(tx, first.PartnerID).One(ctx); err != nil && !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		list, err := read(ctx, tx, `WHERE id = $1`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errUnknown(id)
		}
		return change(tx, list[0])
	})
}

// checkAnswer validates the reason of a refusal.
func checkAnswer(text string) (string, error) {
	text, err := validate.Text("reason", text, MaxAnswer)
	if err == nil && text == "" {
		err = fault.Field("reason", "is missing; the buyer reads why the request is declined.")
	}
	return text, err
}

// CheckReason validates the reason that a buyer gives, which may be empty.
func CheckReason(text string) (string, error) { return validate.Text("reason", text, MaxReason) }
