package claviger

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Earnings reads your balances, the open month and a page of your sales, newest first, before a purchase; 0
// starts with the newest.
func (c *Client) Earnings(ctx context.Context, before int64) (Earnings, error) {
	return get[Earnings](ctx, c, rest.Target("/v2/earnings", url.Values{"cursor": {rest.Number(before)}}))
}

// Statements reads your monthly statements, newest first.
func (c *Client) Statements(ctx context.Context) iter.Seq2[Statement, error] {
	return rest.All[Statement](ctx, c.rest, "/v2/statements")
}

// Statement reads a statement with a page of its lines, oldest first, after a line; 0 starts with the first.
func (c *Client) Statement(ctx context.Context, number, after int64) (StatementWithLines, error) {
	path := "/v2/statements/" + strconv.FormatInt(number, 10)
	return get[StatementWithLines](ctx, c, rest.Target(path, url.Values{"cursor": {rest.Number(after)}}))
}

// ExportStatement returns a statement as a file, as Export does.
func (c *Client) ExportStatement(ctx context.Context, number int64, format ExportFormat) (io.ReadCloser, error) {
	return c.rest.Open(ctx, rest.Request{
		Method: http.MethodGet, Path: "/v2/exports/statements/" + strconv.FormatInt(number, 10),
		Query: url.Values{"format": {string(format)}},
	})
}
