package claviger_test

import (
	"fmt"
	"testing"

	"claviger/sdk/go/operator"
)

// marketBatch sells more orders than a batch takes, one of them refused.
func marketBatch(t *testing.T, c *operator.Client) {
	t.Helper()
	ctx := t.Context()
	p := must(c.CreatePartner(ctx, operator.NewPartner{Name: "Launch"}))(t)
	must(c.PutPlan(ctx, p.ID, 1, operator.NewPlan{Name: "Plan"}))(t)
	const orders = 12
	results := all(t, c.SellAll(ctx, func(yield func(operator.NewPurchase) bool) {
		for i := range orders {
			order := operator.NewPurchase{PartnerID: p.ID, Tier: 1, Quantity: new(100), ExternalID: new(fmt.Sprint("launch-", i))}
			if i == 3 {
				order.Tier = 2
			}
			if !yield(order) {
				return
			}
		}
	}))
	if len(results) != orders {
		t.Fatalf("%d orders of %d were answered", len(results), orders)
	}
	for i, r := range results {
		if r.ExternalID != fmt.Sprint("launch-", i) {
			t.Errorf("order %d is answered as %s", i, r.ExternalID)
		}
		if i == 3 {
			if r.Status != 422 || r.Problem.Code != "unknown_tier" {
				t.Errorf("the refused order is %+v", r)
			}
		} else if r.Status != 201 || len(r.Sale.Licenses.Items) != 100 {
			t.Errorf("order %d has %d licenses, %d %s", i, len(r.Sale.Licenses.Items), r.Status, r.Problem.Code)
		}
	}
}
