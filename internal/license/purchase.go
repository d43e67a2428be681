package license

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// MaxQuantity is the maximum number of licenses in one purchase.
const MaxQuantity = 100

// PurchaseKind distinguishes purchases of new licenses and plan changes.
type PurchaseKind int

// Kinds of purchases.
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

// Purchase orders new licenses. Without a buyer, each license belongs to the first user to redeem
// it.
type Purchase struct {
	PartnerID   int64
	Tier        int
	Buyer       *account.Person
	BuyerID     int64 // the buyer's account, if known; then Buyer is nil
	Quantity    int
	AmountCents int64
	Currency    string
	Collected   ledger.Collector // "": the marketplace
	ExternalID  string           // unique per partner forever, or ""
	Shop        bool             // sold by the pages of this service, not by a program of the operator
	Idempotency idempotency.Request
}

// Sale is a completed purchase, with its licenses in their state after it.
type Sale struct {
	ID          int64
	PartnerID   int64
	Kind        PurchaseKind
	ExternalID  string
	Tier        int
	Quantity    int
	AmountCents int64
	Currency    string
	Collected   ledger.Collector // "": a node of the previous release sold it
	UserID      int64            // 0: without a buyer
	Shop        bool             // sold by the pages of this service
	Hundredths  bool             // AmountCents counts hundredths in every currency: it is an old sale
	CreatedAt   time.Time
	SoldAt      time.Time // of an import: the original sale; zero: at CreatedAt
	RefundUntil time.Time // of an order that is being sold; see Order. It is not stored here
	Licenses    []License

	content string // hash of the order of new licenses, to recognize a repeat
}

const saleColumns = `id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, shop,
	created_at, sold_at, content, collected_by, id <= ` + lastOldAmount

// lastOldAmount is the last purchase with amounts in hundredths in every currency.
const lastOldAmount = `(SELECT last_purchase FROM old_amounts)`

func scanSale(r *sqldb.Row, s *Sale) error {
	return r.Scan(
		&s.ID,
		&s.PartnerID,
		(*int)(&s.Kind),
		&s.ExternalID,
		&s.Tier,
		&s.Quantity,
		&s.AmountCents,
		&s.Currency,
		&s.UserID,
		&s.Shop,
		&s.CreatedAt,
		&s.SoldAt,
		&s.content,
		(*string)(&s.Collected),
		&s.Hundredths,
	)
}

// insertSales queues the rows of purchases.
func insertSales(tx *sqldb.Tx, sales ...Sale) {
	rows := make([][]any, len(sales))
	for i, s := range sales {
		rows[i] = []any{
			s.ID, s.PartnerID, int(s.Kind), s.ExternalID, s.Tier, s.Quantity, s.AmountCents, s.Currency,
			s.UserID, s.Shop, s.CreatedAt, s.SoldAt, s.content, true, string(s.Collected),
		}
	}
	tx.Insert("purchases", []string{
		"id", "partner_id", "kind", "external_id", "tier", "quantity", "amount_cents", "currency", "user_id",
		"shop", "created_at", "sold_at", "content", "posted", "collected_by",
	}, rows)
}

// insertLicenses queues the rows of new licenses.
func insertLicenses(tx *sqldb.Tx, list []License) {
	rows := make([][]any, len(list))
	for i, l := range list {
		rows[i] = []any{
			l.ID, l.PartnerID, l.Ord, l.Key, l.RedemptionID, int(l.Status), l.Tier, l.OwnerID, l.Redeemed, l.Released,
			int(l.Held), l.Erased, l.Ended, l.Epoch, l.eventAt.UnixMilli(), l.CreatedAt, l.UpdatedAt,
		}
	}
	tx.Insert("licenses", []string{
		"id", "partner_id", "ord", "license_key", "redemption_id", "status", "tier", "owner_id", "redeemed", "released",
		"held", "erased", "ended", "epoch", "event_ms", "created_at", "updated_at",
	}, rows)
}

func errUnknownTier(tier int) error {
	return fault.New(
		fault.Unprocessable,
		codeUnknownTier,
		"This partner sells no plan of tier %d. Add the plan first, or name one of the partner's plans.",
		tier,
	).On("tier")
}

// Order is a purchase with its actor.
type Order struct {
	Purchase
	By audit.Actor

	// Confirm means that By is an operator token that worked before and was not checked again: the
	// order is refused unless the token still works.
	Confirm bool

	// Paid means that money has moved: the order is sold even if the plan was removed or the
	// partner paused. PlanName is the plan's name at that time.
	Paid     bool
	PlanName string

	// RefundUntil is the time before which the buyer may ask for the money back, for the email about
	// the sale; zero: never.
	RefundUntil time.Time

	// Payment, if set, is recorded with the sale by Store.Record.
	Payment *Payment

	// Then, if set, queues related rows in the transaction of the sale. It is not called for a
	// repeat.
	Then func(tx *sqldb.Tx, sale Sale)
}

// Payment is a payment for an order, reported by a provider.
type Payment struct {
	CheckoutID          int64
	SessionID, IntentID string // the provider's ids
	ChargeID            string // likewise; "" if it is not known
	RefundUntil         time.Time

	SaleID   int64                   // set by the sale, before it is recorded
	Recorded *sqldb.Result[Recorded] // set when it is recorded, shared by all payments of the set
}

// Recorded is a checkout with a recorded payment.
type Recorded struct {
	CheckoutID int64
	Unsettled  bool // a refund or a dispute came before
}

// Result is the result of an order.
type Result struct {
	Sale Sale
	Err  error
}

// Purchase makes the licenses of an order once, even if it is repeated under the same external id
// or idempotency key. A repeat returns the first sale, with its licenses in their state after the
// sale.
func (r *Store) Purchase(ctx context.Context, by audit.Actor, p Purchase) (Sale, error) {
	return r.Sell(ctx, Order{Purchase: p, By: by})
}

// Sell does the same as Purchase, for an order. It joins concurrent orders of the partner in one
// set; see Gatherer.
func (r *Store) Sell(ctx context.Context, o Order) (Sale, error) {
	var sold Result
	if r.Gather == nil || r.way().answersInside() {
		sold = r.PurchaseAll(ctx, []Order{o})[0]
	} else {
		sold = r.Gather.sell(ctx, o, r.PurchaseAll)
	}
	if sold.Err != nil {
		return Sale{}, sold.Err
	}
	return sold.Sale, nil
}

// PurchaseAll sells several orders of one partner in one transaction. The results are the same as
// for one after the other. The refusal of an order does not affect the others. There is no other
// way to sell.
//
// If the transaction fails and the database is available, each order gets its own transaction, so
// that only the cause of the failure fails.
func (r *Store) PurchaseAll(ctx context.Context, list []Order) []Result {
	results := make([]Result, len(list))
	orders := make([]*order, 0, len(list))
	for i, o := range list {
		if o.Quantity < 1 || o.Quantity > MaxQuantity {
			results[i].Err = fault.Field("quantity", "must be from 1 to %d.", MaxQuantity)
			continue
		}
		// Hash outside the transaction, because writers wait for one another.
		orders = append(orders, &order{Order: o, content: o.content(), result: &results[i]})
	}
	if len(orders) == 0 {
		return results
	}
	err := r.sellSet(ctx, orders)
	alone := err != nil && len(orders) > 1 && !r.way().spoils() && !sqldb.IsUnavailable(err) && ctx.Err() == nil
	if alone { // each may succeed, and then the error would appear nowhere else
		r.log().
			Warn(
				"a set of orders could not be sold; they are sold one by one", "partner_id",
				orders[0].PartnerID, "orders", len(orders), "err", err,
			)
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

func (r *Store) log() *slog.Logger {
	if r.Log != nil {
		return r.Log
	}
	return slog.Default()
}

// record records the payments of sales, including repeated ones, and the rows related to new sales.
func (r *Store) record(tx *sqldb.Tx, orders []*order) {
	var list []*Payment
	for _, o := range orders {
		if o.Then != nil && o.result.Sale.ID != 0 {
			o.Then(tx, o.result.Sale)
		}
		if id := cmp.Or(o.result.Sale.ID, o.repeats); o.Payment != nil && id != 0 {
			o.Payment.SaleID = id
			list = append(list, o.Payment)
		}
	}
	if len(list) > 0 {
		r.Record(tx, list)
	}
}
