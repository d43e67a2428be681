package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"claviger/sdk/go/internal/rest"
)

// Search finds licenses, users, purchases, refunds, orders and partners by a text.
func (c *Client) Search(ctx context.Context, text string) (Found, error) {
	return get[Found](ctx, c, rest.Target(base+"search", url.Values{"q": {text}}))
}

// FindFilter narrows a search for licenses, purchases or orders of all partners. Zero fields are ignored.
type FindFilter struct {
	PartnerID  int64
	Email      string // of the owner of a license, or the buyer
	Key        string // of licenses: the key, or its end
	Status     string // of licenses
	Tier       int64  // of licenses
	ExternalID string // of purchases
	State      string // of orders
	From, To   time.Time
}

func (f FindFilter) query() url.Values {
	q := url.Values{}
	q.Set("partner_id", rest.Number(f.PartnerID))
	q.Set("email", f.Email)
	setTime(q, "from", f.From)
	setTime(q, "to", f.To)
	return q
}

// FindLicenses searches the licenses of all partners, page by page.
func (c *Client) FindLicenses(ctx context.Context, f FindFilter) iter.Seq2[OperatorLicense, error] {
	q := f.query()
	q.Set("key", f.Key)
	q.Set("status", f.Status)
	q.Set("tier", rest.Number(f.Tier))
	return rest.All[OperatorLicense](ctx, c.rest, rest.Target(base+"licenses/search", q))
}

// FindPurchases searches the purchases and plan changes of all partners, page by page.
func (c *Client) FindPurchases(ctx context.Context, f FindFilter) iter.Seq2[Purchase, error] {
	q := f.query()
	q.Set("external_id", f.ExternalID)
	return rest.All[Purchase](ctx, c.rest, rest.Target(base+"purchases/search", q))
}

// Orders lists the orders of the shop, page by page.
func (c *Client) Orders(ctx context.Context, f FindFilter) iter.Seq2[ShopOrder, error] {
	q := f.query()
	q.Set("state", f.State)
	return rest.All[ShopOrder](ctx, c.rest, rest.Target(base+"orders", q))
}

// ShopOrder returns an order with its story. The id is its reference, or an id of Stripe.
func (c *Client) ShopOrder(ctx context.Context, id string) (OrderCase, error) {
	return get[OrderCase](ctx, c, base+"orders/"+url.PathEscape(id))
}

// LicensePurchases returns the payments for a license, and its refunds.
func (c *Client) LicensePurchases(ctx context.Context, key string) (Chain, error) {
	return get[Chain](ctx, c, licensePath(key, "/purchases"))
}

// Timeline returns the history of a license, and the text for a reply.
func (c *Client) Timeline(ctx context.Context, key string) (Timeline, error) {
	return get[Timeline](ctx, c, licensePath(key, "/timeline"))
}

// Purchase returns a purchase with the current state of its licenses.
func (c *Client) Purchase(ctx context.Context, id int64) (PurchaseDetail, error) {
	return get[PurchaseDetail](ctx, c, base+"purchases/"+strconv.FormatInt(id, 10))
}

// Refund returns a refund with the current state of its licenses.
func (c *Client) Refund(ctx context.Context, id int64) (Refunded, error) {
	return get[Refunded](ctx, c, base+"refunds/"+strconv.FormatInt(id, 10))
}

// PreviewRefund returns the effect of a refund; it changes nothing.
func (c *Client) PreviewRefund(ctx context.Context, r NewRefund) (EffectList, error) {
	return post[EffectList](ctx, c, base+"refunds/preview", r)
}

// UserData returns all data about a user, to answer a request for access. The call is audited.
func (c *Client) UserData(ctx context.Context, id int64) (PersonData, error) {
	return get[PersonData](ctx, c, base+"users/"+strconv.FormatInt(id, 10)+"/data")
}

// PreviewErase returns the effect of erasing a user; it changes nothing.
func (c *Client) PreviewErase(ctx context.Context, id int64) (Erasure, error) {
	return get[Erasure](ctx, c, base+"users/"+strconv.FormatInt(id, 10)+"/erasure")
}
