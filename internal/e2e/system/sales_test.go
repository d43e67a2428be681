//go:build unix

package system_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// price is the amount of an order in cents. A third of it is rounded.
const price = 10_000

// sold is a purchase.
type sold struct {
	Licenses struct {
		Items []struct {
			Key string `json:"license_key"`
		} `json:"items"`
	} `json:"licenses"`
}

// order returns the body of an order with a new number, and the number. One order in five is for three
// licenses.
func (l *load) order(email string) (map[string]any, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	quantity := 1
	if l.number%5 == 0 {
		quantity = 3
	}
	return map[string]any{
		"partner_id": l.card.Partner.ID, "tier": 1, "external_id": fmt.Sprintf("order-%d", l.number),
		"quantity": quantity, "amount_cents": price, "currency": "USD",
		"user": map[string]string{"email": email},
	}, l.number
}

// sell sells licenses, and changes the first of them twice. Its three events must stay in order. Then it
// may refund them. The buyer is not the one who connects licenses, because a license on hold cannot be
// connected.
func (l *load) sell() {
	c := &http.Client{Transport: l.through, Timeout: 20 * time.Second}
	order, number := l.order("held@example.com")
	var made sold
	a := l.send(c, "sale", "POST", "/operator/v1/purchases", order, l.card.OperatorToken, 201)
	if a.status != http.StatusCreated {
		return
	}
	l.decode(a, &made)
	at := "/operator/v1/licenses/" + made.Licenses.Items[0].Key
	l.send(c, "change", "POST", at+"/hold", map[string]string{"reason": "held"}, l.card.OperatorToken, 200)
	l.send(c, "change", "POST", at+"/reinstate", map[string]string{}, l.card.OperatorToken, 200)
	if len(made.Licenses.Items) > 1 || number%4 == 0 {
		l.refund(c, made, number)
	}
}

// refund refunds the last license of a sale, and reverses some of the refunds.
func (l *load) refund(c *http.Client, s sold, number int) {
	last := s.Licenses.Items[len(s.Licenses.Items)-1].Key
	order := map[string]any{"license_key": last, "external_id": fmt.Sprintf("refund-%d", number)}
	a := l.send(c, "refund", "POST", "/operator/v1/refunds", order, l.card.OperatorToken, 201)
	if a.status != http.StatusCreated || number%3 != 0 {
		return
	}
	var made struct {
		Refund struct {
			ID int64 `json:"id"`
		} `json:"refund"`
	}
	l.decode(a, &made)
	path := fmt.Sprintf("/operator/v1/refunds/%d/reverse", made.Refund.ID)
	l.send(c, "reversal", "POST", path, map[string]string{}, l.card.OperatorToken, 200)
}

func (l *load) batch() {
	c := &http.Client{Transport: l.through, Timeout: 20 * time.Second}
	var list []any
	for range 5 {
		order, _ := l.order(l.card.Buyer.Email)
		list = append(list, order)
	}
	a := l.send(c, "batch", "POST", "/operator/v1/purchases/batch", list, l.card.OperatorToken, 200)
	if n := strings.Count(a.body, `"status":201`); a.status == http.StatusOK && n != len(list) {
		l.Errorf("%d of a batch of %d are sold: %.300s", n, len(list), a.body)
	}
}
