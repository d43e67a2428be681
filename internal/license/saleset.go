package license

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// order is an order in a set.
type order struct {
	Order
	content string
	result  *Result
	repeats int64 // the purchase that it repeats; 0: none
}

// refuse makes err the answer of the order, or returns it if it is none: then it
// concerns the whole transaction.
func (o *order) refuse(err error) error {
	if fault.Of(err) == nil {
		return err
	}
	o.result.Err = err
	return nil
}

// names are the external id and the idempotency key of the order: an order with one of
// them in common may be a repeat.
func (o *order) names() []string {
	var names []string
	if o.ExternalID != "" {
		names = append(names, "external "+o.ExternalID)
	}
	if k := o.Idempotency; k.Key != "" {
		names = append(names, "key "+k.Scope+" "+k.Key)
	}
	return names
}

// buyerNames are the names of the buyer: two orders with one in common may be for the same.
func (o *order) buyerNames() []string {
	if o.Buyer == nil {
		return nil
	}
	names := o.Buyer.Names()
	for i := range names {
		names[i] = "buyer " + names[i]
	}
	return names
}

// saleSet sells orders of one partner in one transaction. What must be known is read in
// one round trip, then the orders are decided in memory, and what follows is written in
// one round trip, with one statement for each table. New buyers take one more between.
type saleSet struct {
	*partnerTx       // of a partner that exists
	refusal    error // of every new sale: there is no such partner, or it is paused
	orders     []*order
	tokens     *account.TokenCheck
	once       *idempotency.Lookups
	buyers     *account.Finder
	saleIDs    []int64         // not used yet
	licenseIDs []int64         // likewise
	known      map[string]Sale // by external id: those that were there, and those made here
	made       []Sale
	drafts     []event.Draft
}

// sellSet sells the orders and sets their results. After an error nothing is sold.
func (r *Registry) sellSet(ctx context.Context, orders []*order) (err error) {
	defer func() {
		if p := recover(); p != nil { // the others of the set wait for their results
			err = fmt.Errorf("panic in a sale: %v\n\n%s", p, debug.Stack())
		}
	}()
	var s *saleSet
	var repeated repeatedSales
	err = r.write(ctx, func(tx *sqldb.Tx) error {
		for _, o := range orders {
			*o.result, o.repeats = Result{}, 0 // it may be run again
		}
		var err error
		if s, err = r.readSet(ctx, tx, orders); err != nil {
			return err
		}
		for open := orders; len(open) > 0; {
			if open, err = s.decide(ctx, open); err != nil {
				return err
			}
		}
		s.save()
		repeated = s.queueRepeated()
		if r.effects != nil { // a preview, which has no commit
			return s.answer(ctx, repeated)
		}
		return nil
	})
	if err != nil || r.effects != nil {
		return err
	}
	return s.answer(ctx, repeated)
}

// readSet reads all that must be known about the orders. The lock of the partner's ledger
// comes first: what follows sees all that the holder before committed.
func (r *Registry) readSet(ctx context.Context, tx *sqldb.Tx, orders []*order) (*saleSet, error) {
	s := &saleSet{orders: orders, known: map[string]Sale{}}
	partnerID, licenses := orders[0].PartnerID, 0
	lowest, highest := orders[0].Tier, orders[0].Tier
	var tokens []int64
	var externals []string
	var requests []idempotency.Request
	var persons []account.Person
	for _, o := range orders {
		licenses += o.Quantity
		lowest, highest = min(lowest, o.Tier), max(highest, o.Tier)
		requests = append(requests, o.Idempotency)
		if o.Confirm {
			tokens = append(tokens, o.By.ID)
		}
		if o.ExternalID != "" {
			externals = append(externals, o.ExternalID)
		}
		if o.Buyer != nil {
			persons = append(persons, *o.Buyer)
		}
	}
	tx.PlanOnce()
	pending := queueSaleTx(tx, partnerID, licenses, lowest, highest)
	s.tokens = account.QueueTokenCheck(tx, tokens, r.Now())
	s.once = idempotency.QueueLookups(tx, requests...)
	// By external id: PostgreSQL might look through all purchases of a partner who is new.
	earlier := sqldb.QueueQuery(tx, scanSale, `SELECT `+saleColumns+` FROM purchases
		WHERE partner_id + 0 = $1 AND kind = $2 AND external_id = ANY($3) AND external_id <> ''`, partnerID, int(NewLicense), externals)
	saleIDs := sqldb.NextIDs(tx, "purchase_ids", len(orders))
	licenseIDs := sqldb.NextIDs(tx, "license_ids", licenses)
	s.buyers = account.QueueFinder(tx, persons...)
	var err error
	if s.partnerTx, err = r.partnerTx(ctx, tx, audit.Actor{}, pending); err != nil {
		s.partnerTx, s.refusal = &partnerTx{tx: tx}, err
		if fault.Of(err) == nil {
			return nil, err
		}
		return s, nil
	}
	list, err := earlier.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for earlier purchases: %w", err)
	}
	for _, sale := range list {
		s.known[sale.ExternalID] = sale
	}
	if s.saleIDs, err = saleIDs.All(ctx); err != nil {
		return nil, fmt.Errorf("allocate purchase ids: %w", err)
	}
	if s.licenseIDs, err = licenseIDs.All(ctx); err != nil {
		return nil, fmt.Errorf("allocate license ids: %w", err)
	}
	if s.refusal = s.ledger.CheckNotPaused(ctx, tx); s.refusal != nil && fault.Of(s.refusal) == nil {
		return nil, s.refusal
	}
	return s, nil
}

// decide decides open orders in their order. It returns those that must wait: what may
// repeat an order that it sells, since only the outcome decides that, and what has a name
// in common with one that waits.
func (s *saleSet) decide(ctx context.Context, open []*order) (rest []*order, err error) {
	var selling []*order
	var persons []account.Person
	taken := map[string]bool{}
	for _, o := range open {
		names, isTaken := o.names(), func(name string) bool { return taken[name] }
		if slices.ContainsFunc(names, isTaken) || len(rest) > 0 && slices.ContainsFunc(o.buyerNames(), isTaken) {
			rest, names = append(rest, o), append(names, o.buyerNames()...)
		} else if sells, err := s.check(ctx, o); err != nil {
			return nil, err
		} else if sells {
			selling = append(selling, o)
		} else {
			continue
		}
		for _, name := range names {
			taken[name] = true
		}
	}
	for _, o := range selling {
		if o.Buyer != nil {
			persons = append(persons, *o.Buyer)
		}
	}
	buyers, err := s.buyers.Find(ctx, s.now, persons...)
	if err != nil {
		return nil, err
	}
	for _, o := range selling {
		var buyer account.Found
		if o.Buyer != nil {
			buyer, buyers = buyers[0], buyers[1:]
		}
		if buyer.Err != nil {
			o.result.Err = buyer.Err
		} else if err := s.sell(o, buyer.User.ID); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// check reports whether an order is to be sold. One that is not has its refusal, or the
// purchase that it repeats.
func (s *saleSet) check(ctx context.Context, o *order) (sells bool, err error) {
	if o.Confirm {
		if err := s.tokens.Check(ctx, o.By.ID); err != nil {
			return false, o.refuse(err)
		}
	}
	var first outcome
	switch found, err := s.once.Read(ctx, o.Idempotency, &first); {
	case err != nil:
		return false, o.refuse(err)
	case found && first.PurchaseID == 0:
		return false, errors.New("a purchase has the outcome of another order")
	case found:
		o.repeats = first.PurchaseID
		return false, nil
	}
	if earlier, ok := s.known[o.ExternalID]; ok {
		if earlier.content != o.content {
			return false, o.refuse(idempotency.ErrExternalIDReused())
		}
		o.repeats = earlier.ID
		return false, s.once.Add(o.Idempotency, outcome{PurchaseID: earlier.ID}, s.now)
	}
	if s.refusal != nil {
		return false, o.refuse(s.refusal)
	}
	if err := s.requirePlan(o.Tier); err != nil {
		return false, o.refuse(err)
	}
	return true, nil
}

// sell makes the purchase and its licenses in memory.
func (s *saleSet) sell(o *order, buyerID int64) error {
	sale := Sale{
		ID: s.saleIDs[0], PartnerID: o.PartnerID, Kind: NewLicense, ExternalID: o.ExternalID, Tier: o.Tier, Quantity: o.Quantity,
		AmountCents: o.AmountCents, Currency: o.Currency, UserID: buyerID, Shop: o.Shop, CreatedAt: s.now, content: o.content,
	}
	s.saleIDs = s.saleIDs[1:]
	for _, id := range s.licenseIDs[:o.Quantity] {
		s.ledger.Licenses++
		l := License{
			ID: id, PartnerID: sale.PartnerID, Ord: s.ledger.Licenses, Key: secret.TimeUUID(s.now), RedemptionID: secret.UUID(),
			Status: event.Inactive, Tier: sale.Tier, OwnerID: sale.UserID,
			CreatedAt: s.now, UpdatedAt: s.now, eventAt: event.Millis(s.now),
		}
		sale.Licenses = append(sale.Licenses, l)
		s.drafts = append(s.drafts, s.draft(&state{License: l, was: License{Tier: l.Tier}}, event.Purchased))
	}
	s.licenseIDs = s.licenseIDs[o.Quantity:]
	s.made = append(s.made, sale)
	if sale.ExternalID != "" {
		s.known[sale.ExternalID] = sale
	}
	o.result.Sale = sale
	return s.once.Add(o.Idempotency, outcome{PurchaseID: sale.ID}, s.now)
}

// save queues all that was made.
func (s *saleSet) save() {
	s.once.Store()
	if len(s.made) == 0 {
		return
	}
	insertSales(s.tx, s.made...)
	var licenses, links [][]any
	blocks := map[int64]int64{}
	for _, sale := range s.made {
		for _, l := range sale.Licenses {
			licenses = append(licenses, []any{
				l.ID, l.PartnerID, l.Ord, l.Key, l.RedemptionID, int(l.Status), l.Tier, l.OwnerID, l.Redeemed, l.Released,
				int(l.Held), l.Erased, l.Epoch, l.eventAt.UnixMilli(), l.CreatedAt, l.UpdatedAt,
			})
			links = append(links, []any{l.ID, 1, sale.ID, sale.Tier, 0})
			blocks[paging.BlockOf(l.Ord)]++
		}
	}
	s.tx.Insert("licenses", []string{
		"id", "partner_id", "ord", "license_key", "redemption_id", "status", "tier", "owner_id", "redeemed", "released",
		"held", "erased", "epoch", "event_ms", "created_at", "updated_at",
	}, licenses)
	s.tx.Insert("purchase_links", []string{"license_id", "seq", "purchase_id", "tier", "refund_id"}, links)
	for block, n := range blocks {
		s.count(event.Inactive, block, n)
	}
	s.log.Append(s.tx, s.drafts...)
	s.ledger.Save(s.tx)
	audit.RecordAll(s.tx, s.now, s.acts())
}

// acts are the audit entries of the sales.
func (s *saleSet) acts() []audit.Act {
	var acts []audit.Act
	for _, o := range s.orders {
		sale := o.result.Sale
		if sale.ID == 0 {
			continue
		}
		keys := make([]string, len(sale.Licenses))
		for i, l := range sale.Licenses {
			keys[i] = l.Key
		}
		acts = append(acts, audit.Act{
			By: o.By, Action: "purchase.create", Subject: "purchase:" + strconv.FormatInt(sale.ID, 10), After: audit.Facts{
				"partner_id": sale.PartnerID, "tier": sale.Tier, "quantity": sale.Quantity, "amount_cents": sale.AmountCents,
				"currency": sale.Currency, "external_id": sale.ExternalID, "user_id": sale.UserID, "license_keys": keys,
			},
		})
	}
	return acts
}

// repeatedSales is what is read of the purchases that orders of a set repeat. It comes
// with the commit, so that it takes no round trip of its own.
type repeatedSales struct {
	sales    *sqldb.Result[Sale]
	licenses *sqldb.Result[soldLicense]
}

type soldLicense struct {
	saleID int64
	License
}

func (s *saleSet) queueRepeated() (q repeatedSales) {
	var ids []int64
	for _, o := range s.orders {
		if o.repeats != 0 {
			ids = append(ids, o.repeats)
		}
	}
	if ids == nil {
		return q
	}
	q.sales = sqldb.QueueQuery(s.tx, scanSale, `SELECT `+saleColumns+` FROM purchases WHERE id = ANY($1)`, ids)
	q.licenses = sqldb.QueueQuery(s.tx, func(r *sqldb.Row, l *soldLicense) error {
		return r.Scan(&l.saleID, &l.ID, &l.PartnerID, &l.Ord, &l.Key, &l.RedemptionID, &l.CreatedAt)
	}, `SELECT k.purchase_id, l.id, l.partner_id, l.ord, l.license_key, l.redemption_id, l.created_at
		FROM purchase_links AS k JOIN licenses AS l ON l.id = k.license_id WHERE k.purchase_id = ANY($1) ORDER BY l.ord`, ids)
	return q
}

// answer gives each repeat the purchase that it repeats, with its licenses as the
// purchase left them: inactive, of the tier bought and never changed, whatever happened
// since.
func (s *saleSet) answer(ctx context.Context, q repeatedSales) error {
	if q.sales == nil {
		return nil
	}
	list, err := q.sales.All(ctx)
	if err != nil {
		return fmt.Errorf("read repeated purchases: %w", err)
	}
	licenses, err := q.licenses.All(ctx)
	if err != nil {
		return fmt.Errorf("read the licenses of repeated purchases: %w", err)
	}
	sales := make(map[int64]*Sale, len(list))
	for i := range list {
		sales[list[i].ID] = &list[i]
	}
	for _, l := range licenses {
		sale := sales[l.saleID]
		l.Status, l.Tier, l.OwnerID, l.UpdatedAt = event.Inactive, sale.Tier, sale.UserID, l.CreatedAt
		sale.Licenses = append(sale.Licenses, l.License)
	}
	for _, o := range s.orders {
		if o.repeats == 0 {
			continue
		}
		if sales[o.repeats] == nil {
			return fmt.Errorf("there is no purchase %d, which an order repeats", o.repeats)
		}
		o.result.Sale = *sales[o.repeats]
	}
	return nil
}
