package license

import (
	"context"
	"log/slog"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// MaxQuantity is how many licenses one purchase may be of.
const MaxQuantity = 100

// PurchaseKind is what a purchase pays for.
type PurchaseKind int

// The kinds of purchases.
const (
	NewLicense PurchaseKind = iota + 1
	PlanUpgrade
)

func (k PurchaseKind) String() string {
	if k == PlanUpgrade {
		return "plan_change"
	}
	return "purchase"
}

// Purchase orders new licenses. With a buyer they are the buyer's; without, each
// belongs to the first who redeems it.
type Purchase struct {
	PartnerID   int64
	Tier        int
	Buyer       *account.Person
	BuyerID     int64 // the buyer's account, where it is known; then Buyer is nil
	Quantity    int
	AmountCents int64
	Currency    string
	ExternalID  string // unique per partner for ever, or ""
	Shop        bool   // sold by the pages of this service, not by a program of the operator
	Idempotency idempotency.Request
}

// Sale is a purchase that was made, with its licenses as it left them.
type Sale struct {
	ID          int64
	PartnerID   int64
	Kind        PurchaseKind
	ExternalID  string
	Tier        int
	Quantity    int
	AmountCents int64
	Currency    string
	UserID      int64 // 0: without a buyer
	Shop        bool  // sold by the pages of this service
	Hundredths  bool  // AmountCents counts those, whatever the currency: it was sold long ago
	CreatedAt   time.Time
	SoldAt      time.Time // when it was sold elsewhere and brought in; zero: at CreatedAt
	Licenses    []License

	content string // hash of the order of new licenses, to tell a repeated one from another
}

const saleColumns = `id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, shop, created_at, sold_at, content, id <= ` + lastOldAmount

// lastOldAmount is the purchase up to which amounts are hundredths in every currency.
const lastOldAmount = `(SELECT last_purchase FROM old_amounts)`

func scanSale(r *sqldb.Row, s *Sale) error {
	return r.Scan(&s.ID, &s.PartnerID, (*int)(&s.Kind), &s.ExternalID, &s.Tier, &s.Quantity, &s.AmountCents, &s.Currency, &s.UserID,
		&s.Shop, &s.CreatedAt, &s.SoldAt, &s.content, &s.Hundredths)
}

// insertSales queues the rows of purchases.
func insertSales(tx *sqldb.Tx, sales ...Sale) {
	rows := make([][]any, len(sales))
	for i, s := range sales {
		rows[i] = []any{
			s.ID, s.PartnerID, int(s.Kind), s.ExternalID, s.Tier, s.Quantity, s.AmountCents, s.Currency, s.UserID, s.Shop, s.CreatedAt, s.SoldAt, s.content,
		}
	}
	tx.Insert("purchases", []string{
		"id", "partner_id", "kind", "external_id", "tier", "quantity", "amount_cents", "currency", "user_id", "shop", "created_at", "sold_at", "content",
	}, rows)
}

// insertLicenses queues the rows of new licenses.
func insertLicenses(tx *sqldb.Tx, list []License) {
	rows := make([][]any, len(list))
	for i, l := range list {
		rows[i] = []any{
			l.ID, l.PartnerID, l.Ord, l.Key, l.RedemptionID, int(l.Status), l.Tier, l.OwnerID, l.Redeemed, l.Released,
			int(l.Held), l.Erased, l.Epoch, l.eventAt.UnixMilli(), l.CreatedAt, l.UpdatedAt,
		}
	}
	tx.Insert("licenses", []string{
		"id", "partner_id", "ord", "license_key", "redemption_id", "status", "tier", "owner_id", "redeemed", "released",
		"held", "erased", "epoch", "event_ms", "created_at", "updated_at",
	}, rows)
}

func errUnknownTier(tier int) error {
	return fault.New(fault.Unprocessable, codeUnknownTier,
		"This partner sells no plan of tier %d. Add the plan first, or name one of the partner's plans.", tier).On("tier")
}

// Order is a purchase and who orders it.
type Order struct {
	Purchase
	By audit.Actor

	// Confirm says that By is an operator token of which it is only known that it worked
	// before: the order is refused unless the token works when it is decided.
	Confirm bool

	// Paid says that money has moved for it: it is sold although the plan was removed or the
	// partner paused. PlanName is what the plan was called then.
	Paid     bool
	PlanName string

	// Payment, if there is one, is recorded with the sale by Registry.Record.
	Payment *Payment
}

// Payment is what a provider reported as paid for an order.
type Payment struct {
	CheckoutID          int64
	SessionID, IntentID string // the provider's names of it

	SaleID   int64                   // set when it is sold, before it is recorded
	Recorded *sqldb.Result[Recorded] // set when it is recorded: of all that were with it
}

// Recorded is a checkout whose payment was recorded.
type Recorded struct {
	CheckoutID int64
	Unsettled  bool // a refund or a dispute came before
}

// Result is what became of an order.
type Result struct {
	Sale Sale
	Err  error
}

// Purchase makes the licenses of an order, once however often it is repeated under
// the same external id or idempotency key. A repeat returns the first sale, with its
// licenses as the sale left them.
func (r *Registry) Purchase(ctx context.Context, by audit.Actor, p Purchase) (Sale, error) {
	return r.Sell(ctx, Order{Purchase: p, By: by})
}

// Sell is Purchase for an order. It is sold in one set with those of the partner that
// come at the same time; see Gatherer.
func (r *Registry) Sell(ctx context.Context, o Order) (Sale, error) {
	var sold Result
	if r.Gather == nil || r.effects != nil || r.tx != nil {
		sold = r.PurchaseAll(ctx, []Order{o})[0]
	} else {
		sold = r.Gather.sell(ctx, o, r.PurchaseAll)
	}
	if sold.Err != nil {
		return Sale{}, sold.Err
	}
	return sold.Sale, nil
}

// PurchaseAll is Purchase for several orders of one partner, in one transaction: the
// results are those of buying one after the other. An order that is refused is refused
// alone. There is no other way to sell.
//
// Where the transaction fails, and the database is there, each order gets a transaction
// of its own, so that only the one fails that is the cause.
func (r *Registry) PurchaseAll(ctx context.Context, list []Order) []Result {
	results := make([]Result, len(list))
	orders := make([]*order, 0, len(list))
	for i, o := range list {
		if o.Quantity < 1 || o.Quantity > MaxQuantity {
			results[i].Err = fault.Field("quantity", "must be from 1 to %d.", MaxQuantity)
			continue
		}
		// The hash is made outside the transaction, since writers wait for one another.
		orders = append(orders, &order{Order: o, content: o.content(), result: &results[i]})
	}
	if len(orders) == 0 {
		return results
	}
	err := r.sellSet(ctx, orders)
	alone := err != nil && len(orders) > 1 && r.tx == nil && !sqldb.IsUnavailable(err) && ctx.Err() == nil
	if alone { // each may succeed, so that nobody else would hear of it
		r.log().Warn("a set of orders could not be sold; they are sold one by one", "partner_id", orders[0].PartnerID, "orders", len(orders), "err", err)
	}
	for _, o := range orders {
		if alone {
			err = r.sellSet(ctx, []*order{o})
		}
		if err != nil {
			*o.result = Result{Err: err}
		}
	}
	return results
}

func (r *Registry) log() *slog.Logger {
	if r.Log != nil {
		return r.Log
	}
	return slog.Default()
}
