package license

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
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
	Quantity    int
	AmountCents int64
	Currency    string
	ExternalID  string // unique per partner for ever, or ""
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
	CreatedAt   time.Time
	Licenses    []License

	content string // hash of the order of new licenses, to tell a repeated one from another
}

const saleColumns = `id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, created_at, content`

func scanSale(r *sqldb.Row, s *Sale) error {
	return r.Scan(&s.ID, &s.PartnerID, (*int)(&s.Kind), &s.ExternalID, &s.Tier, &s.Quantity, &s.AmountCents, &s.Currency, &s.UserID,
		&s.CreatedAt, &s.content)
}

// queueSaleLookup queues the query for an earlier purchase with the external id.
func queueSaleLookup(tx *sqldb.Tx, partnerID int64, kind PurchaseKind, externalID string) *sqldb.Result[Sale] {
	return sqldb.QueueQuery(tx, scanSale, `SELECT `+saleColumns+` FROM purchases
		WHERE partner_id = $1 AND kind = $2 AND external_id = $3 AND external_id <> ''`, partnerID, int(kind), externalID)
}

func (s *Sale) insert(tx *sqldb.Tx) {
	tx.Queue(`INSERT INTO purchases (`+saleColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		s.ID, s.PartnerID, int(s.Kind), s.ExternalID, s.Tier, s.Quantity, s.AmountCents, s.Currency, s.UserID, s.CreatedAt, s.content)
}

func errUnknownTier(tier int) error {
	return fault.New(fault.Unprocessable, codeUnknownTier,
		"This partner sells no plan of tier %d. Add the plan first, or name one of the partner's plans.", tier).On("tier")
}

// Purchase makes the licenses of an order, once however often it is repeated under
// the same external id or idempotency key. A repeat returns the first sale, with its
// licenses as the sale left them.
func (r *Registry) Purchase(ctx context.Context, by audit.Actor, p Purchase) (Sale, error) {
	if p.Quantity < 1 || p.Quantity > MaxQuantity {
		return Sale{}, fault.Field("quantity", "must be from 1 to %d.", MaxQuantity)
	}
	content := p.content() // outside the transaction, since writers wait for one another
	var sale Sale
	err := r.write(ctx, func(tx *sqldb.Tx) error {
		var earlier outcome
		found, err := idempotency.Lookup(ctx, tx, p.Idempotency, &earlier)
		if err != nil {
			return err
		}
		if found {
			sale, err = earlier.readSale(ctx, tx)
			return err
		}
		if sale, err = r.sell(ctx, tx, by, p, content); err != nil || p.Idempotency.Key == "" {
			return err
		}
		return idempotency.Store(tx, p.Idempotency, outcome{PurchaseID: sale.ID}, r.Now())
	})
	if err != nil {
		return Sale{}, err
	}
	return sale, nil
}

// sell makes the purchase, or returns the earlier one with the same external id.
func (r *Registry) sell(ctx context.Context, tx *sqldb.Tx, by audit.Actor, p Purchase, content string) (Sale, error) {
	pending := queueSaleTx(tx, p.PartnerID, p.Quantity)
	earlier := queueSaleLookup(tx, p.PartnerID, NewLicense, p.ExternalID)
	plan := partner.QueuePlan(tx, p.PartnerID, p.Tier)
	saleID := sqldb.NextIDs(tx, "purchase_ids", 1)
	licenseIDs := sqldb.NextIDs(tx, "license_ids", p.Quantity)
	t, err := r.partnerTx(ctx, tx, by, pending)
	if err != nil {
		return Sale{}, err
	}
	switch sale, err := earlier.One(ctx); {
	case err == nil && sale.content != content:
		return Sale{}, idempotency.ErrExternalIDReused()
	case err == nil:
		sale.Licenses, err = asSold(ctx, tx, sale)
		return sale, err
	case !errors.Is(err, sqldb.ErrNone):
		return Sale{}, fmt.Errorf("look for an earlier purchase: %w", err)
	}
	if err := t.ledger.CheckNotPaused(ctx, tx); err != nil {
		return Sale{}, err
	}
	if err := t.requirePlan(ctx, p.Tier, plan); err != nil {
		return Sale{}, err
	}
	sale := Sale{
		PartnerID: p.PartnerID, Kind: NewLicense, ExternalID: p.ExternalID, Tier: p.Tier, Quantity: p.Quantity,
		AmountCents: p.AmountCents, Currency: p.Currency, CreatedAt: t.now, content: content,
	}
	if sale.ID, err = saleID.One(ctx); err != nil {
		return Sale{}, fmt.Errorf("allocate a purchase id: %w", err)
	}
	ids, err := licenseIDs.All(ctx)
	if err != nil {
		return Sale{}, fmt.Errorf("allocate license ids: %w", err)
	}
	if p.Buyer != nil {
		u, err := account.Find(ctx, tx, *p.Buyer, t.now)
		if err != nil {
			return Sale{}, err
		}
		sale.UserID = u.ID
	}
	t.sell(&sale, ids)
	return sale, nil
}

// requirePlan refuses a tier without a plan, and remembers the plan's name for the
// events.
func (t *partnerTx) requirePlan(ctx context.Context, tier int, plan *sqldb.Result[partner.Plan]) error {
	p, err := plan.One(ctx)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return errUnknownTier(tier)
	case err != nil:
		return fmt.Errorf("look for the plan: %w", err)
	}
	t.plans[tier] = p.Name
	return nil
}

// sell writes the purchase and its licenses.
func (t *partnerTx) sell(sale *Sale, ids []int64) {
	sale.insert(t.tx)
	blocks := map[int64]int64{}
	keys := make([]string, len(ids))
	for i, id := range ids {
		t.ledger.Licenses++
		l := License{
			ID: id, PartnerID: sale.PartnerID, Ord: t.ledger.Licenses, Key: secret.TimeUUID(t.now), RedemptionID: secret.UUID(),
			Status: event.Inactive, Tier: sale.Tier, OwnerID: sale.UserID,
			CreatedAt: t.now, UpdatedAt: t.now, eventAt: event.Millis(t.now),
		}
		t.insert(l)
		s := &state{License: l, chain: []link{{seq: 1, purchaseID: sale.ID, tier: sale.Tier}}, was: License{Tier: l.Tier}}
		t.saveChain(s)
		t.appendEvent(s, event.Purchased)
		blocks[paging.BlockOf(l.Ord)]++
		keys[i] = l.Key
		sale.Licenses = append(sale.Licenses, l)
	}
	for block, n := range blocks {
		t.count(event.Inactive, block, n)
	}
	t.ledger.Save(t.tx)
	audit.Record(t.tx, t.now, t.by, "purchase.create", "purchase:"+strconv.FormatInt(sale.ID, 10), nil, audit.Facts{
		"partner_id": sale.PartnerID, "tier": sale.Tier, "quantity": sale.Quantity, "amount_cents": sale.AmountCents,
		"currency": sale.Currency, "external_id": sale.ExternalID, "user_id": sale.UserID, "license_keys": keys,
	})
}

func (t *partnerTx) insert(l License) {
	t.tx.Queue(`INSERT INTO licenses (`+columns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		l.ID, l.PartnerID, l.Ord, l.Key, l.RedemptionID, int(l.Status), l.Tier, l.OwnerID, l.Redeemed, l.Released,
		int(l.Held), l.Erased, l.Epoch, l.eventAt.UnixMilli(), l.CreatedAt, l.UpdatedAt)
}

// asSold returns the licenses of a purchase as the purchase left them: inactive, of
// the tier bought and never changed, whatever happened since.
func asSold(ctx context.Context, tx *sqldb.Tx, sale Sale) ([]License, error) {
	list, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses
		WHERE id IN (SELECT license_id FROM purchase_links WHERE purchase_id = $1) ORDER BY ord`, sale.ID)
	if err != nil {
		return nil, fmt.Errorf("read the licenses of purchase %d: %w", sale.ID, err)
	}
	for i := range list {
		l := &list[i]
		*l = License{
			ID: l.ID, PartnerID: l.PartnerID, Ord: l.Ord, Key: l.Key, RedemptionID: l.RedemptionID,
			Status: event.Inactive, Tier: sale.Tier, OwnerID: sale.UserID, CreatedAt: l.CreatedAt, UpdatedAt: l.CreatedAt,
		}
	}
	return list, nil
}
