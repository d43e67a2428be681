package operator

import (
	"context"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// PartnerStats reads a partner's figures for a number of days (in UTC) and hours, up to now.
func (c *Client) PartnerStats(ctx context.Context, partnerID int64, days, hours int) (PartnerStats, error) {
	return get[PartnerStats](ctx, c, rest.Target(partnerPath(partnerID, "/stats"),
		url.Values{"days": {strconv.Itoa(days)}, "hours": {strconv.Itoa(hours)}}))
}

// SalesStats reads the sales of a number of days (in UTC) including today, per day and per partner;
// a partnerID of 0 means all partners.
func (c *Client) SalesStats(ctx context.Context, partnerID int64, days int) (SalesStats, error) {
	q := url.Values{"days": {strconv.Itoa(days)}}
	if partnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(partnerID, 10))
	}
	return get[SalesStats](ctx, c, rest.Target(base+"stats/sales", q))
}
