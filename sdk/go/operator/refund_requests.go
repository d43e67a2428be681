package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// RefundRequestFilter selects refund requests; zero fields select all.
type RefundRequestFilter struct {
	State     string // requested, refunded or declined
	PartnerID int64
}

// RefundRequests lists the refund requests of buyers, newest first.
func (c *Client) RefundRequests(ctx context.Context, f RefundRequestFilter) iter.Seq2[RefundRequest, error] {
	q := url.Values{}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if f.PartnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(f.PartnerID, 10))
	}
	return rest.All[RefundRequest](ctx, c.rest, rest.Target(base+"refund-requests", q))
}

// RefundRequest returns a refund request.
func (c *Client) RefundRequest(ctx context.Context, id int64) (RefundRequest, error) {
	return get[RefundRequest](ctx, c, base+"refund-requests/"+strconv.FormatInt(id, 10))
}

// GrantRefundRequest refunds what a buyer asked for.
func (c *Client) GrantRefundRequest(ctx context.Context, id int64) (RefundRequest, error) {
	return post[RefundRequest](ctx, c, base+"refund-requests/"+strconv.FormatInt(id, 10)+"/refund", nil)
}

// DeclineRefundRequest declines a refund request, with a reason for the buyer.
func (c *Client) DeclineRefundRequest(ctx context.Context, id int64, reason string) (RefundRequest, error) {
	return post[RefundRequest](
		ctx, c, base+"refund-requests/"+strconv.FormatInt(id, 10)+"/decline", RefundRequestDecline{Reason: reason},
	)
}
