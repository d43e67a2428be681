package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
)

// Limits of a batch.
const (
	maxBatchLicenses = 1000
	maxBatchBytes    = 2 << 20
)

// CreatePurchases sells up to 1,000 licenses with one request and returns the result of each order,
// in the same order. Some may be refused. Each order needs an ExternalID, which identifies a
// repeat: after an error, send the same orders again.
func (c *Client) CreatePurchases(ctx context.Context, orders []NewPurchase) ([]OrderResult, error) {
	var out OrderResultList
	_, err := c.rest.Do(ctx, Request{
		Method: http.MethodPost, Path: base + "purchases/batch", Body: orders, Repeatable: true,
	}, &out)
	return out.Items, err
}

// SellAll sells any number of orders in batches, and yields the result of each, in the same order.
// It reads as many orders as fit into a batch, and the next ones after all results were consumed.
// An error ends it; see CreatePurchases.
func (c *Client) SellAll(ctx context.Context, orders iter.Seq[NewPurchase]) iter.Seq2[OrderResult, error] {
	return func(yield func(OrderResult, error) bool) {
		var batch []NewPurchase
		licenses, bytes := 0, 2
		send := func() bool {
			results, err := c.CreatePurchases(ctx, batch)
			if err != nil {
				yield(OrderResult{}, err)
				return false
			}
			for _, r := range results {
				if !yield(r, nil) {
					return false
				}
			}
			batch, licenses, bytes = nil, 0, 2
			return true
		}
		for order := range orders {
			text, err := json.Marshal(order)
			if err != nil {
				yield(OrderResult{}, fmt.Errorf("claviger: encode an order: %w", err))
				return
			}
			n := 1
			if order.Quantity != nil {
				n = max(n, *order.Quantity)
			}
			if len(batch) > 0 && (licenses+n > maxBatchLicenses || bytes+len(text)+1 > maxBatchBytes) && !send() {
				return
			}
			batch, licenses, bytes = append(batch, order), licenses+n, bytes+len(text)+1
		}
		if len(batch) > 0 {
			send()
		}
	}
}
