package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
)

// TestStatementPages: two months pass, the job writes statements, and their pages can be read and printed.
func TestStatementPages(t *testing.T) {
	t.Parallel()
	const span = 61 * 24 * time.Hour
	b := newBuyer(t, nil)
	market := caller{base: b.card.BaseURL, token: b.card.OperatorToken}
	for i, currency := range []string{"USD", "EUR", "USD"} {
		market.must(t, 201, "POST", "/operator/v1/purchases", object{
			"partner_id": b.card.Partner.ID, "tier": 1, "external_id": fmt.Sprint("order-", i),
			"user": object{"email": b.card.Buyer.Email}, "amount_cents": 4900, "currency": currency,
		})
	}
	apptest.Send(t, http.DefaultClient, "POST", b.card.BaseURL+"/dev/time", "by="+span.String(),
		"Content-Type: application/x-www-form-urlencoded", "Accept: application/json")
	b.signInAs(b.card.Member.Email, b.card.Member.Password)
	now := time.Now().UTC()
	later := now.Add(span)
	months := 12*(later.Year()-now.Year()) + int(later.Month()-now.Month())
	b.awaitRows(b.path("/earnings"), "#statements tbody tr", 2*months) // of two currencies
	b.Look("portal-earnings-year")
	b.Press("#statements tbody a")
	if text := b.Text("main"); !strings.Contains(text, "Closing balance") {
		t.Errorf("the page says %s", text)
	}
	b.Look("portal-statement")
	operator := &buyer{Tab: chromium(t).Tab(t), t: t, card: b.card}
	operator.signInAs(b.card.Operator.Email, b.card.Operator.Password)
	operator.visit("/console/partners/1/earnings")
	operator.Look("console-earnings")
	operator.visit("/console/partners/1/statements/1")
	operator.Look("console-statement")
}
