package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// How long a session can be paid, and how much of that must be left for a buyer who comes
// back to it.
const (
	sessionLife = 35 * time.Minute
	reuseLeft   = 5 * time.Minute
)

// askFirst is when the provider is first asked about a session that nobody told us of.
const askFirst = time.Minute

// Order is what a buyer wants to pay for.
type Order struct {
	PartnerID  int64
	Partner    string // its name
	Tier       int
	PlanName   string
	Amount     int64
	Currency   string
	UserID     int64
	LicenseKey string // of the license whose plan changes; "": a new one
	CancelPath string // where the buyer goes who does not pay
}

func (b *Book) fresh(o Order) Checkout {
	now := b.Now()
	return Checkout{
		Ref: b.newRef(), PartnerID: o.PartnerID, Tier: o.Tier, PlanName: o.PlanName, Item: o.Partner + ", " + o.PlanName,
		Amount: o.Amount, Currency: o.Currency, UserID: o.UserID, LicenseKey: o.LicenseKey, State: Open,
		CreatedAt: now, ExpiresAt: now.Add(sessionLife), UpdatedAt: now, NextAt: now.Add(askFirst),
	}
}

// errUnavailable is what a buyer reads when Stripe cannot be reached.
func errUnavailable() error {
	f := fault.New(fault.Busy, CodeUnavailable, "The payment page cannot be reached just now. Nothing was charged. Try again in a minute.")
	f.After = time.Minute
	return f
}

func errCurrency(currency string) error {
	return fault.New(fault.Conflict, codeCurrency, "This plan cannot be paid for here: its price in %s cannot be charged. The marketplace has to change the price.", currency)
}

// maxBegins bounds how often Begin looks again after another tab was faster.
const maxBegins = 3

// Begin returns a checkout whose page can be paid, or one that was paid meanwhile. A buyer
// who has an open one for the same at the same price gets it again; one at another price
// is ended first, so that a buyer never has two to pay.
func (b *Book) Begin(ctx context.Context, o Order) (Checkout, error) {
	if b.Stripe == nil {
		return Checkout{}, fault.New(fault.Conflict, codeNotPaidHere, "This marketplace takes no payments here.")
	}
	if ok, _ := Chargeable(o.Amount, o.Currency); !ok {
		return Checkout{}, errCurrency(o.Currency)
	}
	for range maxBegins {
		c, found, err := b.find(ctx, `user_id = $1 AND partner_id = $2 AND tier = $3 AND license_key = $4 AND state = `+sqldb.Literal(Open),
			o.UserID, o.PartnerID, o.Tier, o.LicenseKey)
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

func (b *Book) insert(ctx context.Context, c Checkout) (id int64, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		id, err = sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency, user_id,
				license_key, state, session_id, session_url, intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at, paid_at, updated_at, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, '', $8, $9, $10, '', '', '', 0, 0, $11, 0, $12, $13, 0, $12, $14) RETURNING id`,
			c.Ref, c.PartnerID, c.Tier, c.PlanName, c.Item, c.Amount, c.Currency, c.UserID, c.LicenseKey, int(c.State), false,
			c.CreatedAt, c.ExpiresAt, c.NextAt)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write a checkout: %w", err)
	}
	return id, nil
}

// openSession makes the page of a checkout. It may be called again for the same one: the
// provider answers the same session.
func (b *Book) openSession(ctx context.Context, c Checkout, o Order) (Checkout, error) {
	f, err := b.Stripe.createSession(ctx, c, b.PublicURL+"/checkout/"+c.Ref, b.PublicURL+o.CancelPath)
	if err != nil {
		return Checkout{}, b.buyerError(ctx, c, err)
	}
	c.SessionID, c.SessionURL = f.id, f.url
	err = b.change(ctx, c, func(w *work) error {
		w.SessionID, w.SessionURL = f.id, f.url
		return nil
	})
	return c, err
}

// buyerError logs why the provider did not do what a buyer waits for, and says so. A
// checkout that the provider refuses for good is closed.
func (b *Book) buyerError(ctx context.Context, c Checkout, err error) error {
	if fault.Of(err) != nil {
		return err
	}
	b.Log.Error("a checkout could not be begun", "checkout", c.ID, "err", err)
	if _, ok := finally(err); ok {
		if cerr := b.change(ctx, c, func(w *work) error { w.close(); return nil }); cerr != nil {
			return errors.Join(err, cerr)
		}
	}
	return errUnavailable()
}

// resume goes on with an open checkout: its page is returned if the order is the same, and
// ended if not. again says that there is none open any more.
func (b *Book) resume(ctx context.Context, c Checkout, o Order) (_ Checkout, again bool, err error) {
	left := c.ExpiresAt.Sub(b.Now())
	same := c.Amount == o.Amount && c.Currency == o.Currency && c.Item == o.Partner+", "+o.PlanName
	switch {
	case same && c.SessionURL != "" && left >= reuseLeft:
		return c, false, nil
	case same && c.SessionID == "" && left >= 31*time.Minute: // it was cut off before it had one
		c, err = b.openSession(ctx, c, o)
		return c, false, err
	case c.SessionID == "":
		return c, true, b.change(ctx, c, func(w *work) error { w.close(); return nil })
	}
	f, err := b.Stripe.expireSession(ctx, c.SessionID)
	if _, refused := finally(err); refused {
		f, err = b.Stripe.session(ctx, c.SessionID) // it was paid, or has ended
	}
	if err != nil {
		b.Log.Error("an open checkout could not be ended", "checkout", c.ID, "err", err)
		return c, false, errUnavailable()
	}
	f.failed = f.failed || !f.complete
	if c, err = b.take(ctx, c, f, ""); err != nil {
		return c, false, err
	}
	return c, c.State == Closed, nil
}
