package claviger

import (
	"context"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Stats reads your figures for a number of days (in UTC) and hours, up to now.
func (c *Client) Stats(ctx context.Context, days, hours int) (Stats, error) {
	return get[Stats](ctx, c, rest.Target("/v2/stats", url.Values{
		"days": {strconv.Itoa(days)}, "hours": {strconv.Itoa(hours)},
	}))
}
