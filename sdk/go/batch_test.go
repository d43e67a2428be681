package claviger_test

import (
	"fmt"
	"testing"

	"claviger/sdk/go/operator"
)

// marketBatch sells more orders than fit into a batch, one of them refused.
func marketBatch(t *testing.T, c *operator.Client) {
	t.Helper()
	marketImport(t, c)
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

// marketImport imports licenses that were sold elsewhere.
func marketImport(t *testing.T, c *operator.Client) {
	t.Helper()
	ctx := t.Context()
	p := must(c.CreatePartner(ctx, operator.NewPartner{Name: "Moved"}))(t)
	must(c.PutPlan(ctx, p.ID, 1, operator.NewPlan{Name: "Plan"}))(t)
	table := fmt.Appendf(nil, "license_key,partner_id,tier,status,email,sold_at\n3f2c1b4e-8a6d-4c7f-9b0e-5d1a2c3b4f60,%d,1,active,moved@example.com,2024-05-31\nnone,%d,1,active,,2024-05-31\n", p.ID, p.ID)
	tried := must(c.ImportLicenses(ctx, operator.ImportCSV, table, operator.ImportOptions{DryRun: true, Webhooks: true}))(t)
	if !tried.DryRun || tried.Created != 1 || tried.Refused != 1 || len(tried.Problems) != 1 || tried.Problems[0].Line != 3 {
		t.Errorf("the dry run says %+v", tried)
	}
	line := fmt.Appendf(nil, `{"license_key":"3f2c1b4e-8a6d-4c7f-9b0e-5d1a2c3b4f60","partner_id":%d,"tier":1,"status":"active","email":"moved@example.com","sold_at":"2024-05-31"}`, p.ID)
	for created := 1; created >= 0; created-- {
		done := must(c.ImportLicenses(ctx, operator.ImportNDJSON, line, operator.ImportOptions{}))(t)
		if done.Created != created || done.Unchanged != 1-created {
			t.Errorf("the import says %+v", done)
		}
	}
}
