package operator

import (
	"cmp"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// saleRoutes returns the routes of purchases.
func (o *Operator) saleRoutes(
	auth *wire.AuthRoutes[account.Token],
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		auth.RouteRecalling("POST", "/operator/v1/purchases", o.purchase, may(account.Sell)),
		on(account.Sell, "POST", "/purchases/batch", o.purchaseBatch),
		list("/purchases", o.listPurchases),
		auth.RouteWithQuery("POST", "/operator/v1/import", o.importLicenses, may(account.Admin)),
	}
}

// purchaseJSON is a purchase or a plan change on the wire.
type purchaseJSON struct {
	ID          int64     `json:"id"`
	PartnerID   int64     `json:"partner_id"`
	Kind        string    `json:"kind"`
	Tier        int       `json:"tier"`
	Quantity    int       `json:"quantity"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	CollectedBy string    `json:"collected_by,omitempty"` // "": sold by 1.0.0
	ExternalID  string    `json:"external_id"`
	UserID      int64     `json:"user_id"`
	CreatedAt   wire.Time `json:"created_at"`
	SoldAt      mayTime   `json:"sold_at,omitzero"`
}

func purchaseOf(s license.Sale) purchaseJSON {
	return purchaseJSON{
		ID: s.ID, PartnerID: s.PartnerID, Kind: s.Kind.String(), Tier: s.Tier, Quantity: s.Quantity,
		AmountCents: money.Units(
			s.AmountCents,
			s.Currency,
			s.Hundredths,
		), Currency: s.Currency, CollectedBy: string(s.Collected), ExternalID: s.ExternalID, UserID: s.UserID,
		CreatedAt: wire.Time(s.CreatedAt), SoldAt: mayTime(s.SoldAt),
	}
}

// saleJSON is a purchase with its licenses on the wire.
type saleJSON struct {
	Purchase purchaseJSON               `json:"purchase"`
	Licenses wire.Envelope[licenseJSON] `json:"licenses"`
}

func (o *Operator) saleOf(s license.Sale) saleJSON {
	return saleJSON{Purchase: purchaseOf(s), Licenses: wire.ListOf(s.Licenses, o.licenseOf)}
}

// purchaseBody records a purchase.
type purchaseBody struct {
	PartnerID   int64       `json:"partner_id"`
	Tier        int64       `json:"tier"`
	User        *personBody `json:"user"`
	Quantity    *int64      `json:"quantity"`
	AmountCents int64       `json:"amount_cents"`
	Currency    string      `json:"currency"`
	CollectedBy *string     `json:"collected_by"` // nil: the marketplace
	ExternalID  string      `json:"external_id"`
}

// order converts the body for package license.
func (b purchaseBody) order() (license.Purchase, error) {
	quantity := int64(1)
	if b.Quantity != nil {
		quantity = *b.Quantity
	}
	externalID, err := text("external_id", b.ExternalID)
	collected, collecting := collector(b.CollectedBy)
	err = cmp.Or(err,
		partnerID(b.PartnerID),
		number("tier", b.Tier, 1, partner.MaxTier),
		number("quantity", quantity, 1, license.MaxQuantity),
		number("amount_cents", b.AmountCents, 0, maxAmount),
		currency(b.Currency),
		collecting)
	p := license.Purchase{
		PartnerID: b.PartnerID, Tier: int(b.Tier), Quantity: int(quantity),
		AmountCents: b.AmountCents, Currency: b.Currency, Collected: collected, ExternalID: externalID,
	}
	if b.User != nil && err == nil {
		p.Buyer, err = b.User.buyer()
	}
	return p, err
}

// collector returns the party that took the money, as the body names it.
func collector(name *string) (ledger.Collector, error) {
	if name == nil {
		return ledger.ByMarketplace, nil
	}
	c := ledger.Collector(*name)
	switch c {
	case ledger.ByMarketplace, ledger.ByPartner:
		return c, nil
	case ledger.ByProvider:
		return c, fault.Field("collected_by", "must be marketplace or partner. Only the shop sells what Stripe "+
			"was paid for.")
	}
	return c, fault.Field("collected_by", "must be marketplace or partner.")
}

func (o *Operator) purchase(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b purchaseBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	if order.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	if err := mustRepeat(order.Idempotency, order.ExternalID); err != nil {
		return err
	}
	sale, err := o.Licenses.Sell(r.Context(), license.Order{Purchase: order, By: actor(t), Confirm: t.Recalled})
	if err != nil {
		return err
	}
	if t.Recalled {
		o.Accounts.NoteUse(t)
	}
	return wire.JSON(w, http.StatusCreated, o.saleOf(sale))
}

func (o *Operator) listPurchases(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "partner_id", "external_id", "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	partnerID, err := naturalParam(q, "partner_id", 1)
	if err != nil {
		return err
	}
	list, more, err := o.Licenses.Purchases(
		r.Context(),
		license.SaleFilter{PartnerID: partnerID, ExternalID: q.Get("external_id")},
		p,
	)
	if err != nil {
		return err
	}
	wire.PageHeaders(w, r, p, -1, more)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, purchaseOf))
}

// planChangeBody records a plan change.
type planChangeBody struct {
	Tier        int64   `json:"tier"`
	AmountCents int64   `json:"amount_cents"`
	Currency    string  `json:"currency"`
	CollectedBy *string `json:"collected_by"` // nil: the marketplace
	ExternalID  string  `json:"external_id"`
}

// order converts the body for package license.
func (b planChangeBody) order() (license.PlanChange, error) {
	externalID, err := text("external_id", b.ExternalID)
	collected, collecting := collector(b.CollectedBy)
	err = cmp.Or(err,
		number("tier", b.Tier, 1, partner.MaxTier),
		number("amount_cents", b.AmountCents, 0, maxAmount),
		currency(b.Currency),
		collecting)
	return license.PlanChange{
		Tier:        int(b.Tier),
		AmountCents: b.AmountCents,
		Currency:    b.Currency,
		Collected:   collected,
		ExternalID:  externalID,
	}, err
}

func (o *Operator) changePlan(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b planChangeBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	if order.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	l, err := o.Licenses.ChangePlan(r.Context(), actor(t), r.PathValue("key"), order)
	return o.answer(w, l, err)
}
