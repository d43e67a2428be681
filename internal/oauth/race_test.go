package oauth_test

import (
	"sync"
	"testing"

	"claviger/internal/wire"
	"claviger/internal/wire/wiretest"
)

// atOnce is the number of simultaneous copies of a form, half to each of two nodes.
const atOnce = 50

// nodes returns two servers with separate handles of one database.
func (h *endpoints) nodes() []*endpoints {
	h.Helper()
	second := *h
	node := h.Node()
	second.harness = &harness{Harness: node, Server: node.OAuth, clock: h.clock}
	second.url = wiretest.Serve(h.TB, wire.NewMux(second.Routes()...))
	return []*endpoints{h, &second}
}

func race(nodes []*endpoints, send func(h *endpoints) answer) []answer {
	answers := make([]answer, atOnce)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			<-start
			answers[i] = send(nodes[i%len(nodes)])
		})
	}
	close(start)
	all.Wait()
	return answers
}

// TestOneCodeServesOnce: simultaneous exchanges of a code give tokens once, and these keep working.
func TestOneCodeServesOnce(t *testing.T) {
	h := newEndpoints(t)
	nodes := h.nodes()
	for range 4 {
		request := h.exchangeOf(h.code(h.buy(h.ours)))
		var won []answer
		for _, a := range race(nodes, func(h *endpoints) answer { return h.post(request) }) {
			if a.Status == 200 {
				won = append(won, a)
			} else {
				h.refused(a, 400, "invalid_grant", "used already")
			}
		}
		if len(won) != 1 {
			t.Fatalf("%d exchanges of one code succeeded", len(won))
		}
		held := h.tokens(won[0])
		for _, n := range nodes {
			if !n.opens(held.Access) {
				t.Error("the access token does not serve")
			}
		}
		h.tokens(nodes[1].post(h.refreshOf(held.Refresh)))
	}
	if n := h.Count(`SELECT count(*) FROM oauth_tokens`); n != 4*4 {
		t.Errorf("there are %d tokens, want 4 for each code", n)
	}
}

// TestOneRefreshForAll: simultaneous refreshes with one token get the same answer, byte for byte.
func TestOneRefreshForAll(t *testing.T) {
	h := newEndpoints(t)
	nodes := h.nodes()
	for range 4 {
		_, held := h.connect()
		answers := race(nodes, func(h *endpoints) answer { return h.post(h.refreshOf(held.Refresh)) })
		for _, a := range answers {
			if a.Status != 200 || a.Body != answers[0].Body {
				t.Fatalf("answered %d %s, another %s", a.Status, a.Body, answers[0].Body)
			}
		}
		next := h.tokens(answers[0])
		if !h.opens(next.Access) {
			t.Error("the access token does not serve")
		}
		h.tokens(nodes[1].post(h.refreshOf(next.Refresh)))
	}
}
