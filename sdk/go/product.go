package claviger

import (
	"context"
	"net/http"
	"strconv"
)

// Product reads your application's product page.
func (c *Client) Product(ctx context.Context) (Product, error) {
	return get[Product](ctx, c, "/v2/product")
}

// ChangeProduct changes the fields that are not nil. The icon is a picture in base64.
func (c *Client) ChangeProduct(ctx context.Context, p ProductChange) (Product, error) {
	return send[Product](ctx, c, http.MethodPatch, "/v2/product", p)
}

// Plans lists your plans, in the order in which buyers see them.
func (c *Client) Plans(ctx context.Context) ([]Plan, error) {
	list, err := get[PlanList](ctx, c, "/v2/plans")
	return list.Items, err
}

// DescribePlan changes the texts of the plan of a tier that are not nil.
func (c *Client) DescribePlan(ctx context.Context, tier int, t PlanTexts) (Plan, error) {
	return send[Plan](ctx, c, http.MethodPatch, "/v2/plans/"+strconv.Itoa(tier), t)
}
