package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// Limits of a batch.
const (
	maxBatchBytes    = 2 << 20
	maxBatchLicenses = 1000
)

// orderResultJSON is the result of one order of a batch on the wire: the answer of POST
// /operator/v1/purchases, with its status.
type orderResultJSON struct {
	Status     int       `json:"status"`
	ExternalID string    `json:"external_id"`
	Sale       *saleJSON `json:"sale,omitempty"`
	Problem    any       `json:"problem,omitempty"`
}

// batch is the orders of a request in progress. Those of one partner are sold as a set, one partner
// after the other.
type batch struct {
	orders   []license.Order
	results  []license.Result
	sold     []bool  // has a result
	partners []int64 // partners with unsold orders, in the order of the batch
	told     int     // number of results taken
}

func (o *Operator) purchaseBatch(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if len(r.Header.Values("Idempotency-Key")) > 0 {
		return fault.New(
			fault.Invalid,
			idempotency.CodeInvalidIdempotencyKey,
			"A batch takes no Idempotency-Key: each order is recognised by its external_id, so that the batch can "+
				"be repeated as it is.",
		).On("Idempotency-Key")
	}
	b, lines, err := readBatch(w, r, t) // before its turn, so that a slow sender delays no one
	if err != nil {
		return err
	}
	if err := o.Batches.Acquire(r.Context(), name(t), 1); err != nil {
		return err
	}
	defer o.Batches.Release(name(t), 1)
	next := func() []orderResultJSON {
		var list []orderResultJSON
		for ; b.told < len(b.orders) && b.sold[b.told]; b.told++ {
			list = append(list, o.orderResultOf(r, b.orders[b.told], b.results[b.told]))
		}
		return list
	}
	sell := func() []orderResultJSON {
		for list := next(); ; list = next() {
			if len(list) > 0 || len(b.partners) == 0 {
				return list
			}
			b.sellNext(r, o.Licenses)
		}
	}
	if lines {
		return wire.Lines(w, sell)
	}
	all := make([]orderResultJSON, 0, len(b.orders))
	for list := sell(); len(list) > 0; list = sell() {
		all = append(all, list...)
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(all, func(v orderResultJSON) orderResultJSON { return v }))
}

// readBatch reads the orders. An invalid one already has its result.
func readBatch(w http.ResponseWriter, r *http.Request, t account.Token) (b *batch, lines bool, err error) {
	decoder := wire.Decoder{Limit: maxBatchBytes, JSONOnly: true}
	items, lines, err := decoder.Each(w, r)
	if err != nil {
		return nil, false, err
	}
	b = &batch{
		orders:  make([]license.Order, len(items)),
		results: make([]license.Result, len(items)),
		sold:    make([]bool, len(items)),
	}
	licenses := 0
	known := map[int64]bool{}
	for i, item := range items {
		var body purchaseBody
		err := decoder.Item(item, &body)
		p := license.Purchase{ExternalID: body.ExternalID}
		if err == nil {
			p, err = body.order()
		}
		if err == nil && p.ExternalID == "" {
			err = fault.New(
				fault.Invalid,
				codeIdempotencyRequired,
				"Give each order of a batch an external_id, so that a repeated batch is not carried out twice.",
			).On("external_id")
		}
		licenses += max(p.Quantity, 1)
		b.orders[i] = license.Order{Purchase: p, By: actor(t)}
		b.results[i].Err, b.sold[i] = err, err != nil
		if err == nil && !known[p.PartnerID] {
			known[p.PartnerID] = true
			b.partners = append(b.partners, p.PartnerID)
		}
	}
	if licenses > maxBatchLicenses {
		return nil, false, fault.New(
			fault.Unprocessable,
			codeBatchTooLarge,
			"The orders of the batch are of %d licenses; %d in all are allowed. Send the rest in another batch.",
			licenses,
			maxBatchLicenses,
		)
	}
	return b, lines, nil
}

// sellNext sells the orders of the next partner.
func (b *batch) sellNext(r *http.Request, licenses *license.Store) {
	partnerID := b.partners[0]
	b.partners = b.partners[1:]
	var set []license.Order
	var at []int
	for i, o := range b.orders {
		if !b.sold[i] && o.PartnerID == partnerID {
			set = append(set, o)
			at = append(at, i)
		}
	}
	for n, result := range licenses.PurchaseAll(sqldb.InJob(r.Context()), set) {
		b.results[at[n]] = result
		b.sold[at[n]] = true
	}
}

func (o *Operator) orderResultOf(r *http.Request, order license.Order, result license.Result) orderResultJSON {
	out := orderResultJSON{Status: http.StatusCreated, ExternalID: order.ExternalID}
	if result.Err != nil {
		out.Status, out.Problem = wire.Problem(r, result.Err)
		return out
	}
	sale := o.saleOf(result.Sale)
	out.Sale = &sale
	return out
}
