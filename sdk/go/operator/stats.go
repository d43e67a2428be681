package operator

import (
	"context"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// PartnerStats reads a partner's numbers of so many days (in UTC) and hours, up to now.
func (c *Client) PartnerStats(ctx context.Context, partnerID int64, days, hours int) (PartnerStats, error) {
	return get[PartnerStats](ctx, c, rest.Target(partnerPath(partnerID, "/stats"), url.Values{"days": {strconv.Itoa(days)}, "hours": {strconv.Itoa(hours)}}))
}
