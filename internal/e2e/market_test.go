package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// market is the marketplace's programs under test: several traders, each with its own licenses.
type market struct {
	traders []*trader
	acked   atomic.Int64 // acts that were acknowledged
	onAck   func()       // called at each; nil: none
	onAway  func()       // called when the service is unavailable; likewise
}

// trader buys licenses and changes them at random. It records the service's answers.
type trader struct {
	market   *market
	name     string
	random   *rand.Rand
	client   *http.Client
	orders   int
	open     []string          // orders without an answer
	sold     map[string]string // acknowledged orders, with the license's key
	licenses []*holding
	away     []answer // that asked to come back later
}

// holding is a trader's view of a license.
type holding struct {
	key    string
	status string
	tier   int
	sure   bool // the last act was answered
}

func newMarket(traders int, seed uint64) *market {
	m := &market{}
	for i := range traders {
		m.traders = append(m.traders, &trader{
			market: m, name: fmt.Sprint(i), random: rand.New(rand.NewPCG(seed, uint64(i))),
			client: &http.Client{Transport: &http.Transport{}}, sold: map[string]string{},
		})
	}
	return m
}

// errAway is the error for an answer that asks to come back later.
var errAway = errors.New("the service is away")

// work trades until ctx ends or the service is down. An unexpected answer fails the test.
func (tr *trader) work(ctx context.Context, t *testing.T, c *child) {
	defer tr.client.CloseIdleConnections()
	for ctx.Err() == nil {
		err := tr.act(ctx, c)
		if refused, ok := errors.AsType[*unexpected](err); ok {
			t.Errorf("trader %s: %v", tr.name, refused)
			return
		}
		if err != nil && !errors.Is(err, errAway) {
			return // the connection broke, or was never made
		}
	}
}

// unexpected is the error for an answer that no trader should get.
type unexpected struct {
	path string
	answer
}

func (u *unexpected) Error() string {
	return fmt.Sprintf("%s: status %d: %s", u.path, u.status, u.body)
}

// act takes one action: first an unanswered order, or else a new one, or a change of a license.
func (tr *trader) act(ctx context.Context, c *child) error {
	if len(tr.open) > 0 {
		return tr.buy(ctx, c, tr.open[0])
	}
	if len(tr.licenses) < 3 || tr.random.IntN(3) == 0 {
		tr.orders++
		order := fmt.Sprintf("order-%s-%d", tr.name, tr.orders)
		tr.open = append(tr.open, order)
		return tr.buy(ctx, c, order)
	}
	l := tr.licenses[tr.random.IntN(len(tr.licenses))]
	switch tr.random.IntN(4) {
	case 0:
		return tr.change(ctx, c, l, "hold", object{"reason": []string{"held", "chargeback"}[tr.random.IntN(2)]})
	case 1:
		return tr.change(ctx, c, l, "reinstate", object{})
	case 2:
		tr.orders++
		return tr.change(ctx, c, l, "plan", object{"tier": 1 + tr.random.IntN(3), "external_id": fmt.Sprintf("change-%s-%d", tr.name, tr.orders)})
	default:
		return tr.change(ctx, c, l, "activate", object{})
	}
}

// buy orders one license, or repeats the order to learn its result.
func (tr *trader) buy(ctx context.Context, c *child, order string) error {
	a, err := tr.call(ctx, c, "/operator/v1/purchases", object{
		"partner_id": c.card.Partner.ID, "tier": 1, "external_id": order, "user": object{"email": c.card.Buyer.Email},
	})
	if err != nil {
		return err
	}
	made, err := decode[sale](a)
	if err != nil || a.status != 201 || made.Licenses.Size != 1 {
		return &unexpected{order, a}
	}
	l := made.Licenses.Items[0]
	tr.open = tr.open[1:]
	tr.sold[order] = l.Key
	tr.licenses = append(tr.licenses, &holding{l.Key, l.Status, l.Tier, true})
	return nil
}

// change changes a license. A refusal changes nothing.
func (tr *trader) change(ctx context.Context, c *child, l *holding, act string, body object) error {
	sure := l.sure
	l.sure = false
	a, err := tr.call(ctx, c, "/operator/v1/licenses/"+l.key+"/"+act, body)
	if err != nil {
		return err
	}
	switch a.status {
	case 200:
		now, err := decode[licenseLine](a)
		if err != nil || now.Key != l.key {
			return &unexpected{act, a}
		}
		*l = holding{l.key, now.Status, now.Tier, true}
	case 409:
		l.sure = sure
	default:
		return &unexpected{act, a}
	}
	return nil
}

// call sends one request and counts its acknowledgement.
func (tr *trader) call(ctx context.Context, c *child, path string, body object) (answer, error) {
	operator := c.operator()
	operator.contract = contract{"/": tr.client}
	a, err := operator.call(ctx, "POST", path, body)
	if err != nil {
		return a, err
	}
	if a.status == 503 {
		tr.away = append(tr.away, a)
		if tr.market.onAway != nil {
			tr.market.onAway()
		}
		return a, errAway
	}
	tr.market.acked.Add(1)
	if tr.market.onAck != nil {
		tr.market.onAck()
	}
	return a, nil
}

// trade starts all traders, each at the service from at, and returns a function that waits for
// their end.
func (m *market) trade(ctx context.Context, t *testing.T, at func(i int) *child) (wait func()) {
	var all sync.WaitGroup
	for i, tr := range m.traders {
		c := at(i)
		all.Go(func() { tr.work(ctx, t, c) })
	}
	return all.Wait
}

// settle repeats every unanswered order.
func (m *market) settle(t *testing.T, c *child) {
	t.Helper()
	for _, tr := range m.traders {
		for len(tr.open) > 0 {
			if err := tr.buy(t.Context(), c, tr.open[0]); err != nil {
				t.Fatalf("send order %s again: %v", tr.open[0], err)
			}
		}
	}
}

// check compares the traders' knowledge with the service: every acknowledged order has its one
// license, and a license has the state of its last acknowledged act.
func (m *market) check(t *testing.T, c *child) (orders int) {
	t.Helper()
	there := map[string]licenseLine{}
	for page := 1; ; page++ {
		part := read[list[licenseLine]](t, c.partner().must(t, 200, "GET", fmt.Sprintf("/v2/licenses?page=%d", page), nil))
		for _, l := range part.Items {
			there[l.Key] = l
		}
		if part.Size == 0 {
			break
		}
	}
	for _, tr := range m.traders {
		orders += len(tr.sold)
		for order, key := range tr.sold {
			if _, ok := there[key]; !ok {
				t.Errorf("%s was acknowledged with license %s, which is gone", order, key)
			}
		}
		for _, l := range tr.licenses {
			if now := there[l.key]; l.sure && (now.Status != l.status || now.Tier != l.tier) {
				t.Errorf("license %s is %s at tier %d; what was acknowledged is %s at %d", l.key, now.Status, now.Tier, l.status, l.tier)
			}
		}
	}
	if len(there) != orders {
		t.Errorf("%d licenses stand for %d orders", len(there), orders)
	}
	return orders
}

// tradeFor trades at these nodes until this many acts are acknowledged.
func (m *market) tradeFor(t *testing.T, acts int64, nodes ...*child) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := newFuse(acts)
	m.onAck = f.burn
	wait := m.trade(ctx, t, func(i int) *child { return nodes[i%len(nodes)] })
	f.await(t)
	stop()
	wait()
}
