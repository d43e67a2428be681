// Package payment sells for money that Stripe takes. It owns checkouts, refunds and disputes as the
// provider reports them, and payment problems that need a person.
//
// A checkout row is created first, and only it determines what is sold. The provider's facts are
// stored, and the state of licenses is derived from them in the same transaction, so any order of
// facts ends in the same state. Every writer first locks the partner's counters, which serializes
// changes of a checkout.
package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/cluster"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/refundrequest"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Store sells checkouts and stores their facts.
type Store struct {
	DB        *sqldb.DB
	Now       func() time.Time
	Sealer    *secret.Sealer
	Licenses  *license.Store
	Accounts  *account.Store // mails guests; nil: there are none
	Stripe    *Stripe        // nil: no payments here
	PublicURL string
	Mail      *mail.Outbox // to operators; nil: no emails
	Wake      cluster.Wake // wakes the job

	Marketplace string // its name in emails
	Log         *slog.Logger

	// Requests stores refund requests of buyers; nil: nobody can request a refund here.
	Requests  *refundrequest.Store
	Requested RequestMode // what a request does; "": AskPerson

	finder finder
}

// State is the state of a checkout.
type State int

// The states.
const (
	Open    State = iota + 1 // its session can be paid
	Pending                  // the buyer has finished, the bank has not
	Sold
	Closed // nothing was paid: the session ended, or the bank refused
	Unsold // paid, but cannot be sold; a problem has the reason
)

func (s State) String() string {
	return [...]string{"", "open", "pending", "sold", "closed", "unsold"}[s]
}

// Amount is an amount of money.
type Amount struct {
	Units    int64
	Currency string
}

// Checkout is an item that a buyer is about to pay for, or has paid for.
type Checkout struct {
	ID         int64
	Ref        string
	PartnerID  int64
	Tier       int
	PlanName   string
	Item       string // its name on the provider's page
	Amount     int64
	Currency   string
	Credit     int64  // paid earlier; it reduced the price
	Paid       Amount // the amount paid in fact
	UserID     int64
	LicenseKey string // the license that changes plans; "": a new one
	State      State
	SessionID  string
	SessionURL string
	IntentID   string
	PurchaseID int64
	RefundID   int64 // refund of the licenses caused by its payments; 0: none in force
	Unsettled  bool  // refunds or disputes came before the sale
	Tries      int   // polls of the provider
	CreatedAt  time.Time
	ExpiresAt  time.Time
	PaidAt     time.Time
	UpdatedAt  time.Time
	NextAt     time.Time
	Refused    bool   // the bank or the provider refused the payment
	ChargeID   string // the provider's; "" until it names one
	Order      OrderState

	statedAt time.Time // the UpdatedAt that Order belongs to

	// RefundUntil is the time before which the buyer may ask for the money back; zero: never. It is
	// set when the payment is sold, and later terms of the product do not move it.
	RefundUntil time.Time
}

const checkoutColumns = `id, ref, partner_id, tier, plan_name, item, amount, currency, credit, paid, paid_currency,
	user_id, license_key, state, session_id, session_url,
	intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at, paid_at, updated_at, next_at,
	refused, charge_id, order_state, stated_at, refund_until`

func scanCheckout(r *sqldb.Row, c *Checkout) error {
	return r.Scan(
		&c.ID,
		&c.Ref,
		&c.PartnerID,
		&c.Tier,
		&c.PlanName,
		&c.Item,
		&c.Amount,
		&c.Currency,
		&c.Credit,
		&c.Paid.Units,
		&c.Paid.Currency,
		&c.UserID,
		&c.LicenseKey,
		(*int)(&c.State),
		&c.SessionID,
		&c.SessionURL,
		&c.IntentID,
		&c.PurchaseID,
		&c.RefundID,
		&c.Unsettled,
		&c.Tries,
		&c.CreatedAt,
		&c.ExpiresAt,
		&c.PaidAt,
		&c.UpdatedAt,
		&c.NextAt,
		&c.Refused,
		&c.ChargeID,
		(*int)(&c.Order),
		&c.statedAt,
		&c.RefundUntil,
	)
}

// saveCheckout queues an update of the mutable columns.
func saveCheckout(tx *sqldb.Tx, c Checkout) {
	tx.Queue(
		`UPDATE checkouts SET state = $2, session_id = $3, session_url = $4, intent_id = $5, purchase_id = $6,
			refund_id = $7,
		unsettled = $8, tries = $9, paid_at = $10, updated_at = $11, next_at = $12, paid = $13, paid_currency = $14,
		refused = $15, charge_id = $16, order_state = $17, stated_at = $11, refund_until = $18
		WHERE id = $1`,
		c.ID,
		int(c.State),
		c.SessionID,
		c.SessionURL,
		c.IntentID,
		c.PurchaseID,
		c.RefundID,
		c.Unsettled,
		c.Tries,
		c.PaidAt,
		c.UpdatedAt,
		c.NextAt,
		c.Paid.Units,
		c.Paid.Currency,
		c.Refused,
		c.ChargeID,
		int(c.Order),
		c.RefundUntil,
	)
}

// actor is the audit actor of sales and refunds that the provider reports.
var actor = audit.System("payment")

const refPrefix = "co_"

// newRef returns the name of a new checkout. It contains a proof: after a restore, a payment
// without a checkout is still recognized as ours.
func (b *Store) newRef() string {
	id := strings.ReplaceAll(secret.UUID(), "-", "")
	return refPrefix + id + "_" + b.proof(id)
}

func (b *Store) proof(id string) string { return b.Sealer.Pepper("checkout " + id)[:32] }

// ours reports whether this service created the ref.
func (b *Store) ours(ref string) bool {
	id, proof, ok := strings.Cut(strings.TrimPrefix(ref, refPrefix), "_")
	return ok && strings.HasPrefix(ref, refPrefix) && secret.Equal(proof, b.proof(id))
}

// ByRef returns the checkout with a ref.
func (b *Store) ByRef(ctx context.Context, ref string) (Checkout, error) {
	c, found, err := b.find(ctx, `ref = $1`, ref)
	if err == nil && !found {
		return c, fault.New(
			fault.Missing,
			CodeUnknownCheckout,
			"There is no such purchase. Your licenses are on the page My licenses.",
		)
	}
	return c, err
}

// byID returns the checkout of a stored fact.
func (b *Store) byID(ctx context.Context, id int64) (Checkout, error) {
	c, found, err := b.find(ctx, `id = $1`, id)
	if err == nil && !found {
		err = fmt.Errorf("checkout %d is not there", id)
	}
	return c, err
}

// OfPurchases returns the checkouts of these purchases.
func (b *Store) OfPurchases(ctx context.Context, purchases []int64) ([]Checkout, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanCheckout,
		`SELECT `+checkoutColumns+` FROM checkouts WHERE purchase_id = ANY($1) AND purchase_id <> 0 ORDER BY id`,
		purchases,
	)
	if err != nil {
		return nil, fmt.Errorf("find the checkouts of purchases: %w", err)
	}
	return list, nil
}

func (b *Store) find(ctx context.Context, where string, args ...any) (Checkout, bool, error) {
	c, err := sqldb.One(
		ctx,
		b.DB,
		scanCheckout,
		`SELECT `+checkoutColumns+` FROM checkouts WHERE `+where+` ORDER BY id LIMIT 1`,
		args...)
	if errors.Is(err, sqldb.ErrNone) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("find a checkout: %w", err)
	}
	return c, true, nil
}

func (b *Store) wake() {
	if b.Wake != nil {
		b.Wake()
	}
}
