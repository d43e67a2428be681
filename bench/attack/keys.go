package main

import (
	"context"
	"fmt"
	"net/http"
)

// keys presents wrong keys and then the right one from the same address.
func keys(ctx context.Context, l *lab) error {
	t, err := l.start(ctx)
	if err != nil {
		return err
	}
	defer t.stop()
	const wrong = 300
	for n := range wrong {
		if _, err := t.get(ctx, http.DefaultClient, "/v2/profile", fmt.Sprintf("lk_wrong%d", n)); err != nil {
			return err
		}
	}
	partner, err := t.get(ctx, http.DefaultClient, "/v2/profile", t.card.Partner.APIKey)
	if err != nil {
		return err
	}
	operator, err := t.get(ctx, http.DefaultClient, "/operator/v1/stats", t.card.OperatorToken)
	if err != nil {
		return err
	}
	last, err := t.get(ctx, http.DefaultClient, "/v2/profile", "lk_wrong")
	if err != nil {
		return err
	}
	l.add(fmt.Sprintf("after %d wrong keys from an address: a right key on /v2, a right operator token", wrong),
		"200, 200", "%d, %d", partner, operator)
	l.add("one more wrong key", "429", "%d", last)
	return nil
}
