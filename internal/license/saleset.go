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
	"claviger/internal/ledger"
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

// refuse makes a fault the result of the order. Any other error is returned: it concerns the whole
// transaction.
func (o *order) refuse(err error) error {
	if fault.Of(err) == nil {
		return err
	}
	o.result.Err = err
	return nil
}

// names returns the external id and the idempotency key of the order. Orders that share one may be
// repeats.
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

// buyerNames returns the keys of the buyer. Orders that share one may be for the same buyer.
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

// saleSet sells orders of one partner in one transaction. It reads all data in one round trip and
// decides the orders in memory. It writes the results in one round trip, with one statement per
// table. New buyers take one more in between.
type saleSet struct {
	*partnerTx       // of an existing partner
	refusal    error // of every new sale: the partner does not exist
	paused     error // refusal of every new unpaid sale
	orders     []*order
	tokens     *account.TokenCheck
	once       *idempotency.Lookups
	buyers     *account.Finder
	accounts   *sqldb.Result[int64] // of buyers named by id, without erased ones; nil: no order names one
	present    map[int64]bool
	saleIDs    []int64         // unused
	licenseIDs []int64         // unused
	known      map[string]Sale // existing and new sales, by external id
	made       []Sale
	drafts     []event.Draft
	terms      *ledger.Opening // nil: no order has an amount
}

// sellSet sells the orders and sets their results. After an error nothing is sold.
func (r *Store) sellSet(ctx context.Context, orders []*order) (err error) {
	defer func() {
		if p := recover(); p != nil { // the others of the set wait for their results
			err = fmt.Errorf("panic in a sale: %v\n\n%s", p, debug.Stack())
		}
	}()
	var s *saleSet
	var repeated repeatedSales
	err = r.write(ctx, func(tx *sqldb.Tx) error {
		for _, o := range orders {
			*o.result, o.repeats = Result{}, 0 // the transaction may run again
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
		if err := s.save(ctx); err != nil {
			return err
		}
		r.record(tx, orders)
		if err := s.tell(ctx); err != nil {
			return err
		}
		repeated = s.queueRepeated()
		if r.way().answersInside() {
			return s.answer(ctx, repeated)
		}
		return nil
	})
	if err != nil || r.way().answersInside() {
		return err
	}
	return s.answer(ctx, repeated)
}

// readSet reads all data about the orders. The lock of the partner's counters comes first, so that
// the other queries see everything that the previous holder committed.
func (r *Store) readSet(ctx context.Context, tx *sqldb.Tx, orders []*order) (*saleSet, error) {
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
	// By external id: PostgreSQL might read all purchases of a new partner.
	earlier := sqldb.QueueQuery(tx, scanSale, `SELECT `+saleColumns+` FROM purchases
		WHERE partner_id + 0 = $1 AND kind = $2 AND external_id = ANY($3) AND external_id <> ''`, partnerID,
		int(NewLicense), externals)
	saleIDs := sqldb.NextIDs(tx, "purchase_ids", len(orders))
	licenseIDs := sqldb.NextIDs(tx, "license_ids", licenses)
	s.buyers = account.QueueFinder(tx, persons...)
	s.queueRest(tx, r.Defaults)
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
	if s.paused = s.counters.CheckNotPaused(ctx, tx); s.paused != nil && fault.Of(s.paused) == nil {
		return nil, s.paused
	}
	return s, s.knowBuyers(ctx)
}

// queueRest queues the queries that only some orders need: for buyers that are named by id, and for
// the posting of amounts.
func (s *saleSet) queueRest(tx *sqldb.Tx, d ledger.Defaults) {
	var ids []int64
	for _, o := range s.orders {
		if s.terms == nil && earns(o.AmountCents, o.Currency) {
			s.terms = ledger.Queue(tx, o.PartnerID, d)
		}
		if o.BuyerID != 0 {
			ids = append(ids, o.BuyerID)
		}
	}
	if ids != nil {
		s.accounts = account.QueuePresent(tx, ids)
	}
}

// knowBuyers reads which of the buyers named by id exist.
func (s *saleSet) knowBuyers(ctx context.Context) error {
	if s.accounts == nil {
		return nil
	}
	ids, err := s.accounts.All(ctx)
	if err != nil {
		return fmt.Errorf("look for buyers: %w", err)
	}
	s.present = make(map[int64]bool, len(ids))
	for _, id := range ids {
		s.present[id] = true
	}
	return nil
}

// decide decides open orders in sequence. It returns those that must wait as rest: orders that may
// repeat one that it sells, because only the outcome decides that, and orders that share a name
// with a waiting one. Behind a waiting order, limited orders also wait, and every order waits
// behind those: a person may have several names.
func (s *saleSet) decide(ctx context.Context, open []*order) (rest []*order, err error) {
	var selling []*order
	var persons []account.Person
	taken := map[string]bool{}
	limited := false // a waiting order is limited
	for _, o := range open {
		names, isTaken := o.names(), func(name string) bool { return taken[name] }
		behind := len(rest) > 0 && (limited || o.limited() || slices.ContainsFunc(o.buyerNames(), isTaken))
		if behind || slices.ContainsFunc(names, isTaken) {
			rest, names = append(rest, o), append(names, o.buyerNames()...)
			limited = limited || o.limited()
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
	return rest, s.sellWithin(ctx, selling, buyers)
}

// check reports whether an order is to be sold. Otherwise it sets the refusal or the purchase that
// the order repeats.
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
	if refusal := s.refuses(o); refusal != nil {
		return false, o.refuse(refusal)
	}
	return true, nil
}

// refuses returns the reason not to sell a new order.
func (s *saleSet) refuses(o *order) error {
	switch {
	case s.refusal != nil:
		return s.refusal
	case o.BuyerID != 0 && !s.present[o.BuyerID]:
		return account.ErrErased()
	case o.Paid:
		if s.plans[o.Tier] == "" {
			s.plans[o.Tier] = o.PlanName
		}
		return nil
	case s.paused != nil:
		return s.paused
	}
	return s.requirePlan(o.Tier)
}

// sell makes the purchase and its licenses in memory.
func (s *saleSet) sell(o *order, buyerID int64) error {
	sale := Sale{
		ID: s.saleIDs[0], PartnerID: o.PartnerID, Kind: NewLicense, ExternalID: o.ExternalID, Tier: o.Tier,
		Quantity:    o.Quantity,
		AmountCents: o.AmountCents, Currency: o.Currency, UserID: buyerID, Shop: o.Shop, CreatedAt: s.now,
		RefundUntil: o.RefundUntil, Collected: collector(o.Collected, o.Paid), content: o.content,
	}
	s.saleIDs = s.saleIDs[1:]
	for _, id := range s.licenseIDs[:o.Quantity] {
		s.counters.Licenses++
		l := License{
			ID: id, PartnerID: sale.PartnerID, Ord: s.counters.Licenses, Key: secret.TimeUUID(s.now),
			RedemptionID: secret.UUID(),
			Status:       event.Inactive, Tier: sale.Tier, OwnerID: sale.UserID,
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

// save queues the rows of all new sales and their postings.
func (s *saleSet) save(ctx context.Context) error {
	s.once.Store()
	if len(s.made) == 0 {
		return nil
	}
	insertSales(s.tx, s.made...)
	var licenses []License
	var links [][]any
	blocks := map[int64]int64{}
	for _, sale := range s.made {
		for _, l := range sale.Licenses {
			licenses = append(licenses, l)
			links = append(links, newLink(1, sale, 0).row(l.ID))
			blocks[paging.BlockOf(l.Ord)]++
		}
	}
	insertLicenses(s.tx, licenses)
	s.tx.Insert("purchase_links", linkColumns, links)
	for block, n := range blocks {
		s.count(event.Inactive, block, n)
	}
	s.saleNews()
	s.log.Append(s.tx, s.drafts...)
	s.counters.Save(s.tx)
	audit.RecordAll(s.tx, s.now, s.acts())
	return s.postSales(ctx, s.terms, s.made...)
}

// acts returns the audit entries of the sales.
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
			By: o.By, Action: "purchase.create", Subject: "purchase:" + strconv.FormatInt(sale.ID, 10),
			After: audit.Facts{
				"partner_id": sale.PartnerID, "tier": sale.Tier, "quantity": sale.Quantity,
				"amount_cents": sale.AmountCents,
				"currency":     sale.Currency, "external_id": sale.ExternalID, "user_id": sale.UserID,
				"license_keys": keys,
			},
		})
	}
	return acts
}
