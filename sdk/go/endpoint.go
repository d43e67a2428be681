package claviger

import (
	"context"
	"net/http"
)

// Endpoint returns the health of your webhook URL.
func (c *Client) Endpoint(ctx context.Context) (Endpoint, error) {
	return get[Endpoint](ctx, c, "/v2/endpoint")
}

// TryEndpoint retries your webhook URL immediately, if it fails.
func (c *Client) TryEndpoint(ctx context.Context) error {
	_, err := c.rest.Do(ctx, Request{Method: http.MethodPost, Path: "/v2/endpoint/try"}, nil)
	return err
}
