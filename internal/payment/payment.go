// Package payment sells for money that Stripe takes. It owns checkouts, refunds and
// disputes as the provider reports them, and what of them needs a person.
//
// A checkout of our own comes first, and what is sold comes from it alone. The provider's
// facts are stored, and what becomes of licenses is derived from them in the same
// transaction, so that any order of facts ends in the same state. Every writer locks the
// partner's ledger first, which makes changes of one checkout wait for one another.
package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Book sells checkouts and keeps their facts.
type Book struct {
	DB        *sqldb.DB
	Now       func() time.Time
	Sealer    *secret.Sealer
	Licenses  *license.Registry
	Stripe    *Stripe // nil: nothing is paid here
	PublicURL string
	Wake      func() // has the job look for work
	Log       *slog.Logger

	finder finder
}

// State is how far a checkout is.
type State int

// The states.
const (
	Open    State = iota + 1 // its session can be paid
	Pending                  // the buyer is done, and the bank is not
	Sold
	Closed // nothing was paid: the session ended, or the bank refused
	Unsold // it was paid and cannot be sold; a problem says why
)

func (s State) String() string {
	return [...]string{"", "open", "pending", "sold", "closed", "unsold"}[s]
}

// Amount is an amount of money.
type Amount struct {
	Units    int64
	Currency string
}

// Checkout is what a buyer is about to pay for, or has paid for.
type Checkout struct {
	ID         int64
	Ref        string
	PartnerID  int64
	Tier       int
	PlanName   string
	Item       string // what the provider's page calls it
	Amount     int64
	Currency   string
	Paid       Amount // what was paid in fact
	UserID     int64
	LicenseKey string // of the license whose plan changes; "": a new one
	State      State
	SessionID  string
	SessionURL string
	IntentID   string
	PurchaseID int64
	RefundID   int64 // of the licenses, that its payments make; 0: none stands
	Unsettled  bool  // refunds or disputes came before the sale
	Tries      int   // how often the provider was asked
	CreatedAt  time.Time
	ExpiresAt  time.Time
	PaidAt     time.Time
	UpdatedAt  time.Time
	NextAt     time.Time
}

const checkoutColumns = `id, ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency, user_id, license_key, state, session_id, session_url,
	intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at, paid_at, updated_at, next_at`

func scanCheckout(r *sqldb.Row, c *Checkout) error {
	return r.Scan(&c.ID, &c.Ref, &c.PartnerID, &c.Tier, &c.PlanName, &c.Item, &c.Amount, &c.Currency, &c.Paid.Units, &c.Paid.Currency, &c.UserID, &c.LicenseKey,
		(*int)(&c.State), &c.SessionID, &c.SessionURL, &c.IntentID, &c.PurchaseID, &c.RefundID, &c.Unsettled, &c.Tries,
		&c.CreatedAt, &c.ExpiresAt, &c.PaidAt, &c.UpdatedAt, &c.NextAt)
}

// saveCheckout queues what changes about a checkout.
func saveCheckout(tx *sqldb.Tx, c Checkout) {
	tx.Queue(`UPDATE checkouts SET state = $2, session_id = $3, session_url = $4, intent_id = $5, purchase_id = $6, refund_id = $7,
		unsettled = $8, tries = $9, paid_at = $10, updated_at = $11, next_at = $12, paid = $13, paid_currency = $14 WHERE id = $1`,
		c.ID, int(c.State), c.SessionID, c.SessionURL, c.IntentID, c.PurchaseID, c.RefundID, c.Unsettled, c.Tries, c.PaidAt, c.UpdatedAt, c.NextAt,
		c.Paid.Units, c.Paid.Currency)
}

// actor is who sells and refunds what the provider reports.
var actor = audit.System("payment")

const refPrefix = "co_"

// newRef makes the name of a checkout. It proves itself: after a restore, a payment whose
// checkout is not there is still known as ours.
func (b *Book) newRef() string {
	id := strings.ReplaceAll(secret.UUID(), "-", "")
	return refPrefix + id + "_" + b.proof(id)
}

func (b *Book) proof(id string) string { return b.Sealer.Pepper("checkout " + id)[:32] }

// ours reports whether we made the name.
func (b *Book) ours(ref string) bool {
	id, proof, ok := strings.Cut(strings.TrimPrefix(ref, refPrefix), "_")
	return ok && strings.HasPrefix(ref, refPrefix) && secret.Equal(proof, b.proof(id))
}

// ByRef returns the checkout of a name.
func (b *Book) ByRef(ctx context.Context, ref string) (Checkout, error) {
	c, found, err := b.find(ctx, `ref = $1`, ref)
	if err == nil && !found {
		return c, fault.New(fault.Missing, CodeUnknownCheckout, "There is no such purchase. Your licenses are on the page My licenses.")
	}
	return c, err
}

// OfPurchases returns the checkouts that were sold as these purchases.
func (b *Book) OfPurchases(ctx context.Context, purchases []int64) ([]Checkout, error) {
	list, err := sqldb.All(ctx, b.DB, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts WHERE purchase_id = ANY($1) AND purchase_id <> 0 ORDER BY id`, purchases)
	if err != nil {
		return nil, fmt.Errorf("find the checkouts of purchases: %w", err)
	}
	return list, nil
}

func (b *Book) find(ctx context.Context, where string, args ...any) (Checkout, bool, error) {
	c, err := sqldb.One(ctx, b.DB, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts WHERE `+where+` ORDER BY id LIMIT 1`, args...)
	if errors.Is(err, sqldb.ErrNone) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("find a checkout: %w", err)
	}
	return c, true, nil
}

func (b *Book) wake() {
	if b.Wake != nil {
		b.Wake()
	}
}
