package support

import (
	"context"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/payment"
)

// Limits of the search for a mistyped email address.
const (
	maxRecent   = 1000 // orders whose buyers are compared
	maxSimilar  = 5
	maxMistakes = 2 // characters that differ
)

// searchOrders finds orders by their ids and those of a person by the email address. If nobody has
// that address, it finds recent buyers with a similar one: the person who asks mistyped it, here or
// when buying.
func (d *Store) searchOrders(ctx context.Context, f *Found) error {
	if payment.IsOrderID(f.Text) {
		f.As = append(f.As, "the reference of an order or an id of Stripe")
		c, err := d.Payments.OrderByID(ctx, f.Text)
		if fault.Is(err, payment.CodeUnknownOrder) {
			return nil
		}
		f.Orders = []payment.Checkout{c}
		return err
	}
	if !strings.Contains(f.Text, "@") {
		return nil
	}
	if len(f.People) == 0 {
		return d.searchSimilar(ctx, f)
	}
	for _, u := range f.People {
		found, err := d.Payments.FindOrders(ctx, payment.FindOrders{Users: []int64{u.ID}}, 0, maxFound)
		if err != nil {
			return err
		}
		f.Orders = append(f.Orders, found.Orders...)
		f.More = f.More || found.Next != 0 && len(f.People) > 1
	}
	return nil
}

// searchSimilar finds recent buyers whose address differs in few characters.
func (d *Store) searchSimilar(ctx context.Context, f *Found) error {
	recent, err := d.Payments.FindOrders(ctx, payment.FindOrders{}, 0, maxRecent)
	if err != nil {
		return err
	}
	ids := make([]int64, len(recent.Orders))
	for i, c := range recent.Orders {
		ids[i] = c.UserID
	}
	users, err := d.Accounts.Users(ctx, ids)
	if err != nil {
		return err
	}
	seen := map[int64]bool{}
	for _, id := range ids { // the newest order first
		u, ok := users[id]
		if !ok || seen[id] || u.Address() == "" || len(f.Similar) >= maxSimilar {
			continue
		}
		seen[id] = true
		if similar(u.Address(), f.Text) {
			f.Similar = append(f.Similar, u)
		}
	}
	return nil
}

// similar reports whether two addresses differ in at most maxMistakes characters, letter case aside.
// Two neighbours in the wrong order are one mistake.
func similar(a, b string) bool {
	x := []rune(strings.ToLower(a))
	y := []rune(strings.ToLower(b))
	if len(x)-len(y) > maxMistakes || len(y)-len(x) > maxMistakes {
		return false
	}
	before := make([]int, len(y)+1) // the row before the last one
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before = last
		last = row
	}
	return last[len(y)] <= maxMistakes
}
