package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// Number of power cuts, of clients, and of acknowledged purchases per round.
const (
	powerCuts    = 5
	clients      = 8
	acknowledged = 60
)

// counters is the clients' knowledge: the licenses of acknowledged orders, and orders without an
// answer.
type counters struct {
	sync.Mutex
	sold map[string]string
	open []string
}

// TestPowerCuts kills the program under load, again and again, while orders of one partner are sold
// in sets: some clients buy single licenses, others batches. Acknowledged orders exist afterwards.
// The others can be repeated, and make one license whether they had been written or not.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	db := sqldbtest.URL(t)
	known := &counters{sold: map[string]string{}}
	for round := range powerCuts {
		c := launch(t, "--db", db)
		buyUntilCut(t, c, known, round)
	}
	c := launch(t, "--db", db)
	there := allKeys(t, c)
	for order, key := range known.sold {
		if !there[key] {
			t.Errorf("order %s was acknowledged with license %s, which is gone", order, key)
		}
	}
	t.Logf("%d purchases acknowledged, %d cut off", len(known.sold), len(known.open))
	for _, order := range known.open {
		key, err := buy(t.Context(), c, order)
		if err != nil {
			t.Fatalf("send order %s again: %v", order, err)
		}
		known.sold[order] = key
	}
	for order, key := range known.sold {
		if again, err := buy(t.Context(), c, order); err != nil || again != key {
			t.Errorf("order %s is now license %s (%v), was %s", order, again, err, key)
		}
	}
	if n := len(allKeys(t, c)); n != len(known.sold) {
		t.Errorf("%d licenses stand for %d orders", n, len(known.sold))
	}
	checkEvents(t, c, len(known.sold))
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("the last one did not end in order: %v", err)
	}
}

// buyUntilCut buys with all clients and kills the program after enough acknowledgements.
func buyUntilCut(t *testing.T, c *child, known *counters, round int) {
	t.Helper()
	count := 0
	cut := make(chan struct{})
	var buyers sync.WaitGroup
	for client := range clients {
		buyers.Go(func() {
			for n := 0; ; n++ {
				orders := []string{fmt.Sprintf("order-%d-%d-%d", round, client, n)}
				for i := range client % 4 * 3 { // a batch
					orders = append(orders, fmt.Sprintf("%s-%d", orders[0], i))
				}
				keys, err := buyAll(t.Context(), c, orders)
				known.Lock()
				if errors.Is(err, errWrong) {
					t.Error(err)
				}
				if err != nil {
					known.open = append(known.open, orders...)
					known.Unlock()
					return
				}
				for i, order := range orders {
					known.sold[order] = keys[i]
					if count++; count == acknowledged {
						close(cut)
					}
				}
				known.Unlock()
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		buyers.Wait()
		close(ended)
	}()
	select {
	case <-cut:
	case <-ended:
		t.Error("every client failed before the power was cut")
	}
	_ = c.end(syscall.SIGKILL) // killed, which is an error for Wait
	<-ended
}

// errWrong is a complete but wrong answer, which a cut cannot cause.
var errWrong = errors.New("wrong answer")

// buyAll buys a license for each order, in a batch if there are several, and returns their keys
// when acknowledged. A batch has its first order twice.
func buyAll(ctx context.Context, c *child, orders []string) ([]string, error) {
	if len(orders) == 1 {
		key, err := buy(ctx, c, orders[0])
		return []string{key}, err
	}
	var body []object
	for _, order := range append(orders, orders[0]) {
		body = append(body, object{"partner_id": c.card.Partner.ID, "tier": 1, "external_id": order, "user": object{"email": c.card.Buyer.Email}})
	}
	a, err := c.operator().call(ctx, "POST", "/operator/v1/purchases/batch", body)
	if err != nil {
		return nil, err
	}
	type result struct {
		Status int
		Sale   sale
	}
	answers, err := decode[list[result]](a)
	if err != nil || a.status != 200 || len(answers.Items) != len(body) {
		return nil, fmt.Errorf("%w: status %d: %s: %w", errWrong, a.status, a.body, err)
	}
	var keys []string
	for _, r := range answers.Items {
		if r.Status != 201 || r.Sale.Licenses.Size != 1 {
			return nil, fmt.Errorf("%w: status %d in %s", errWrong, r.Status, a.body)
		}
		keys = append(keys, r.Sale.Licenses.Items[0].Key)
	}
	if n := len(orders); keys[n] != keys[0] {
		return nil, fmt.Errorf("%w: an order and its repeat are %s and %s", errWrong, keys[0], keys[n])
	}
	return keys[:len(orders)], nil
}

// buy buys one license and returns its key when acknowledged.
func buy(ctx context.Context, c *child, order string) (string, error) {
	a, err := c.operator().call(ctx, "POST", "/operator/v1/purchases", object{
		"partner_id": c.card.Partner.ID, "tier": 1, "external_id": order, "user": object{"email": c.card.Buyer.Email},
	})
	if err != nil {
		return "", err
	}
	if a.status != 201 {
		return "", fmt.Errorf("%w: status %d: %s", errWrong, a.status, a.body)
	}
	sold, err := decode[sale](a)
	if err != nil || sold.Licenses.Size != 1 {
		return "", fmt.Errorf("%w: %d licenses in %s: %w", errWrong, sold.Licenses.Size, a.body, err)
	}
	return sold.Licenses.Items[0].Key, nil
}

// allKeys reads the partner's whole list.
func allKeys(t *testing.T, c *child) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for page := 1; ; page++ {
		part := read[list[licenseLine]](t, c.partner().must(t, 200, "GET", fmt.Sprintf("/v2/licenses?page=%d", page), nil))
		for _, l := range part.Items {
			keys[l.Key] = true
		}
		if part.Size == 0 {
			return keys
		}
	}
}

// checkEvents checks that every license has one event, and that the feed has no gaps and no
// repeats.
func checkEvents(t *testing.T, c *child, want int) {
	t.Helper()
	seen := map[string]int{}
	for after := int64(0); ; {
		part := read[list[eventLine]](t, c.operator().must(t, 200, "GET", fmt.Sprintf("/operator/v1/events?after=%d", after), nil))
		if part.Size == 0 {
			break
		}
		for _, e := range part.Items {
			if e.ID <= after {
				t.Fatalf("event %d follows %d", e.ID, after)
			}
			after = e.ID
			seen[e.Key]++
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("license %s has %d events, want 1", key, n)
		}
	}
	if len(seen) != want {
		t.Errorf("%d licenses have events, want %d", len(seen), want)
	}
}
