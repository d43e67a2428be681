package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// A session can be paid for sessionLife. A returning buyer gets it again only if reuseLeft remains.
const (
	sessionLife = 35 * time.Minute
	reuseLeft   = 5 * time.Minute
)

// askFirst is the age at which the job first asks the provider about a session without an event.
const askFirst = time.Minute

// Order is the item that a buyer wants to pay for.
type Order struct {
	PartnerID  int64
	Partner    string // its name
	Tier       int
	PlanName   string
	Amount     int64
	Currency   string
	Credit     int64 // paid earlier; it reduced the price
	UserID     int64
	Email      string // fills in the field of the payment page
	LicenseKey string // the license that changes plans; "": a new one
	CancelPath string // the page for buyers who cancel
}

func (b *Store) fresh(o Order) Checkout {
	now := b.Now()
	return Checkout{
		Ref: b.newRef(), PartnerID: o.PartnerID, Tier: o.Tier, PlanName: o.PlanName,
		Item:   o.Partner + ", " + o.PlanName,
		Amount: o.Amount, Currency: o.Currency, Credit: o.Credit, UserID: o.UserID, LicenseKey: o.LicenseKey,
		State:     Open,
		CreatedAt: now, ExpiresAt: now.Add(sessionLife), UpdatedAt: now, NextAt: now.Add(askFirst),
	}
}

// errUnavailable is shown to buyers when Stripe cannot be reached.
func errUnavailable() error {
	f := fault.New(
		fault.Busy,
		CodeUnavailable,
		"The payment page cannot be reached just now. Nothing was charged. Try again in a minute.",
	)
	f.After = time.Minute
	return f
}

func errCurrency(currency string) error {
	return fault.New(
		fault.Conflict,
		codeCurrency,
		"This plan cannot be paid for here: its price in %s cannot be charged. The marketplace has to change the "+
			"price.",
		currency,
	)
}

// maxBegins limits how often Begin retries after another tab was faster.
const maxBegins = 3

// Begin returns a checkout that can be paid, or one that was paid meanwhile. An open checkout for
// the same item and price is returned again. One at another price is ended first, so a buyer never
// has two to pay. A buyer who has reached the plan's limit is refused here, never after payment.
func (b *Store) Begin(ctx context.Context, o Order) (Checkout, error) {
	if b.Stripe == nil {
		return Checkout{}, fault.New(fault.Conflict, codeNotPaidHere, "This marketplace takes no payments here.")
	}
	if ok, _ := Chargeable(o.Amount, o.Currency); !ok {
		return Checkout{}, errCurrency(o.Currency)
	}
	if o.LicenseKey == "" { // also before an open checkout is returned
		if err := b.Licenses.CheckLimit(ctx, o.PartnerID, o.Tier, o.UserID); err != nil {
			return Checkout{}, err
		}
	}
	for range maxBegins {
		c, found, err := b.find(
			ctx,
			`user_id = $1 AND partner_id = $2 AND tier = $3 AND license_key = $4 AND state = `+sqldb.Literal(Open),
			o.UserID,
			o.PartnerID,
			o.Tier,
			o.LicenseKey,
		)
		if err != nil {
			return Checkout{}, err
		}
		if !found {
			c = b.fresh(o)
			c.ID, err = b.insert(ctx, c)
			if sqldb.IsDuplicate(err) {
				continue // another tab was faster
			}
			if err != nil {
				return Checkout{}, err
			}
			return b.openSession(ctx, c, o)
		}
		if c, again, err := b.resume(ctx, c, o); err != nil || !again {
			return c, err
		}
	}
	return Checkout{}, errUnavailable()
}

func (b *Store) insert(ctx context.Context, c Checkout) (id int64, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := b.checkLimit(ctx, tx, c); err != nil {
			return err
		}
		id, err = queueCheckout(tx, c).One(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write a checkout: %w", err)
	}
	return id, nil
}

// queueCheckout queues the row of a new checkout. The result is its id.
func queueCheckout(tx *sqldb.Tx, c Checkout) *sqldb.Result[int64] {
	return sqldb.QueueQuery(
		tx,
		sqldb.Value[int64],
		`INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency,
			user_id, license_key, state, session_id, session_url, intent_id, purchase_id, refund_id, unsettled, tries,
			created_at, expires_at, paid_at, updated_at, next_at, credit, order_state, stated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, '', $8, $9, $10, '', '', '', $11, 0, $12, 0,
			$13, $14, $15, $13, $16, $17, $18, $13)
		RETURNING id`,
		c.Ref,
		c.PartnerID,
		c.Tier,
		c.PlanName,
		c.Item,
		c.Amount,
		c.Currency,
		c.UserID,
		c.LicenseKey,
		int(c.State),
		c.PurchaseID,
		c.Unsettled,
		c.CreatedAt,
		c.ExpiresAt,
		c.PaidAt,
		c.NextAt,
		c.Credit,
		int(orderState(c, nil, nil)),
	)
}

// checkLimit refuses a checkout that would exceed the buyer's limit. It locks the partner: a sale
// to the same buyer is either counted or comes later.
func (b *Store) checkLimit(ctx context.Context, tx *sqldb.Tx, c Checkout) error {
	if c.LicenseKey != "" {
		return nil
	}
	if _, err := partner.Lock(tx, c.PartnerID).One(ctx); errors.Is(err, sqldb.ErrNone) {
		return partner.Unknown()
	} else if err != nil {
		return err
	}
	return b.Licenses.Within(tx).CheckLimit(ctx, c.PartnerID, c.Tier, c.UserID)
}

// openSession creates the payment page of a checkout. It can be repeated: the provider returns the
// same session.
func (b *Store) openSession(ctx context.Context, c Checkout, o Order) (Checkout, error) {
	f, err := b.Stripe.createSession(ctx, c, o.Email, b.PublicURL+"/checkout/"+c.Ref, b.PublicURL+o.CancelPath)
	if err != nil {
		return Checkout{}, b.buyerError(ctx, c, err)
	}
	c.SessionID = f.id
	c.SessionURL = f.url
	err = b.change(ctx, c, func(w *work) error {
		w.SessionID = f.id
		w.SessionURL = f.url
		return nil
	})
	return c, err
}

// buyerError logs why a call of the provider failed and returns an error for the buyer. If the
// provider refused the checkout for good, it is closed.
func (b *Store) buyerError(ctx context.Context, c Checkout, err error) error {
	b.Log.Error("a checkout could not be begun", "checkout", c.ID, "err", err)
	if _, ok := finally(err); ok {
		if cerr := b.change(ctx, c, func(w *work) error { w.close(true); return nil }); cerr != nil {
			return errors.Join(err, cerr)
		}
	}
	return errUnavailable()
}

// errStillOpen is the error of a page that can be paid although it was to end.
var errStillOpen = errors.New("the session is still open")

// resume returns an open checkout if the order is the same, and ends it if not. again reports that
// no checkout is open now.
func (b *Store) resume(ctx context.Context, c Checkout, o Order) (_ Checkout, again bool, err error) {
	left := c.ExpiresAt.Sub(b.Now())
	same := c.Amount == o.Amount && c.Currency == o.Currency && c.Credit == o.Credit &&
		c.Item == o.Partner+", "+o.PlanName
	switch {
	case same && c.SessionURL != "" && left >= reuseLeft:
		return c, false, nil
	case same && c.SessionID == "" && left >= 31*time.Minute: // cut off before it had a session
		c, err = b.openSession(ctx, c, o)
		return c, false, err
	case c.SessionID == "":
		return c, true, b.change(ctx, c, func(w *work) error { w.close(false); return nil })
	}
	f, err := b.Stripe.expireSession(ctx, c.SessionID)
	if _, refused := finally(err); refused {
		f, err = b.Stripe.session(ctx, c.SessionID) // it was paid or has ended
	}
	if err == nil && !f.complete && !f.failed {
		err = errStillOpen
	}
	if err != nil {
		b.Log.Error("an open checkout could not be ended", "checkout", c.ID, "err", err)
		return c, false, errUnavailable()
	}
	if c, err = b.applySession(ctx, c, f, ""); err != nil {
		return c, false, err
	}
	return c, c.State == Closed, nil
}
