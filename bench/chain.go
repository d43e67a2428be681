package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/yard"
	"claviger/internal/profile"
)

// chain is a connection that refreshes, and the tokens of its last answer.
type chain struct {
	client          *load.Client
	of              *party
	access, renewal string
}

// next returns the request that follows from the last answer.
func (c *chain) next() []byte {
	return load.Form(tokenPath, c.of.form("refresh_token", "refresh_token", c.renewal))
}

// take stores the tokens of an answer.
func (c *chain) take(body []byte) {
	c.access, c.renewal = member(body, "access_token"), member(body, "refresh_token")
}

// refresh goes one step.
func (c *chain) refresh(counted *atomic.Int64) error {
	status, body, err := c.client.Ask(c.next())
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("a refresh was answered %d %s", status, body)
	}
	counted.Add(1)
	c.take(body)
	return nil
}

// dialAgain replaces the connection: the service closes one that was idle for two minutes.
func (c *chain) dialAgain(ctx context.Context, addr string) error {
	client, err := load.Dial(ctx, addr)
	if err != nil {
		return err
	}
	c.client.Close()
	c.client = client
	return nil
}

// connect begins a chain for each connection by an exchange.
func (t *tokens) connect(ctx context.Context, alg string) ([]*chain, error) {
	requests, err := t.people.exchanges(ctx, alg, inFlight)
	if err != nil {
		return nil, err
	}
	var chains []*chain
	for i, request := range requests {
		client, err := load.Dial(ctx, t.service.Addr)
		if err != nil {
			hangUp(chains)
			return nil, err
		}
		c := &chain{client: client, of: t.people.parties[alg][i%applications]}
		chains = append(chains, c)
		status, body, err := client.Ask(request)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("an exchange was answered %d %s", status, body)
		}
		if err != nil {
			hangUp(chains)
			return nil, err
		}
		t.exchanged.Add(1)
		c.take(body)
	}
	return chains, nil
}

// shadow returns chains that send the same requests to the bare handler. Its answers must be as
// long as those of the service.
func shadow(ctx context.Context, chains []*chain, bare *server, size int) ([]*chain, error) {
	var list []*chain
	for _, c := range chains {
		client, err := load.Dial(ctx, bare.Addr)
		if err != nil {
			hangUp(list)
			return nil, err
		}
		list = append(list, &chain{client: client, of: c.of, access: c.access, renewal: c.renewal})
		_, body, err := client.Ask(c.next())
		if err == nil && len(body) != size {
			err = fmt.Errorf("the bare handler answers %d bytes, the service %d", len(body), size)
		}
		if err != nil {
			hangUp(list)
			return nil, err
		}
	}
	return list, nil
}

func hangUp(chains []*chain) {
	for _, c := range chains {
		c.client.Close()
	}
}

// sample sends a request to the service like any client, and returns the whole answer.
func (t *tokens) sample(ctx context.Context, request []byte) (yard.Answer, error) {
	_, body, _ := strings.Cut(string(request), "\r\n\r\n")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+t.service.Addr+tokenPath,
		strings.NewReader(body))
	if err != nil {
		return yard.Answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return keep(r)
}

// losses checks that every chain continues, and that a code works once when all connections present
// it simultaneously. Finally it compares the stored data with the acknowledged one.
func (t *tokens) losses(ctx context.Context) error {
	var lost, all int
	for _, chains := range t.chains {
		for _, c := range chains {
			if err := c.dialAgain(ctx, t.service.Addr); err != nil {
				return err
			}
			if c.refresh(&t.refreshed) != nil {
				lost++
			}
			all++
		}
	}
	const raced = 20
	twice, err := t.race(ctx, raced)
	if err != nil {
		return err
	}
	for _, r := range []figure.Row{
		{
			Case: "OAuth: chains of refresh tokens that were lost", Value: float64(lost),
			Shown: fmt.Sprintf("**%d of %d**", lost, all),
		},
		{
			Case:  fmt.Sprintf("OAuth: codes that served twice, %d connections at once", inFlight),
			Value: float64(twice), Shown: fmt.Sprintf("**%d of %d**", twice, raced),
		},
	} {
		r.Database, r.Ours, r.Yardstick, r.Goal, r.Noise = t.store.Name(), t.done(), "–", figure.AtMost(0, ""),
			t.noise.Share()
		t.add(r)
	}
	return t.people.audit(ctx, t.exchanged.Load(), t.refreshed.Load())
}

// race presents one code on all connections simultaneously, n times, and returns how many codes
// worked more than once.
func (t *tokens) race(ctx context.Context, n int) (twice int, err error) {
	requests, err := t.people.exchanges(ctx, profile.ES256, n)
	if err != nil {
		return 0, err
	}
	chains := t.chains[profile.ES256]
	for _, request := range requests {
		var served atomic.Int64
		_, err := load.Each(ctx, len(chains), len(chains), func(_ context.Context, _, i int) error {
			status, _, err := chains[i].client.Do(request)
			if status == http.StatusOK {
				served.Add(1)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if served.Load() == 0 {
			return 0, errors.New("a code served nobody")
		}
		t.exchanged.Add(served.Load())
		if served.Load() > 1 {
			twice++
		}
	}
	return twice, nil
}
