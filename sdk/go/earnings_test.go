package claviger_test

import (
	"strings"
	"testing"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// partnerEarnings reads the earnings and the statement of apptest.Earn.
func partnerEarnings(t *testing.T, c *claviger.Client) {
	t.Helper()
	ctx := t.Context()
	e := must(c.Earnings(ctx, 0))(t)
	if e.Balances.Size != 1 || e.Balances.Items[0].Payable != 2065 || e.Sales.Size != 2 || e.Sales.Items[0].Price != 5900 {
		t.Errorf("the earnings are %+v", e)
	}
	if more := must(c.Earnings(ctx, e.Sales.Items[0].PurchaseID))(t); more.Sales.Size != 1 {
		t.Errorf("the second page is %+v", more.Sales)
	}
	list := all(t, c.Statements(ctx))
	if len(list) != 1 || list[0].Closing != 2065 {
		t.Fatalf("the statements are %+v", list)
	}
	s := must(c.Statement(ctx, list[0].Number, 0))(t)
	if s.Lines.Size != 2 || s.Lines.Items[0].Amount != 4130 {
		t.Errorf("the statement is %+v", s)
	}
	if next := must(c.Statement(ctx, s.Number, s.Lines.Items[0].ID))(t); next.Lines.Size != 1 {
		t.Errorf("the second page is %+v", next.Lines)
	}
	file, err := c.ExportStatement(ctx, s.Number, claviger.ExportCSV)
	if text := exported(t, file, err); !strings.Contains(text, ",closing,,,2065,EUR,") {
		t.Errorf("the file is %s", text)
	}
}

// marketStatements reads the same as the marketplace.
func marketStatements(t *testing.T, c *operator.Client, partnerID int64) {
	t.Helper()
	if list := all(t, c.Statements(t.Context(), partnerID)); len(list) != 1 || list[0].Closing != 2065 {
		t.Errorf("the statements are %+v", list)
	}
	if s := must(c.Statement(t.Context(), partnerID, 1, 0))(t); s.Lines.Size != 2 {
		t.Errorf("the statement is %+v", s)
	}
}
