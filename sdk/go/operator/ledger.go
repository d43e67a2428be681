package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"claviger/sdk/go/internal/rest"
)

// PostingFilter selects postings; zero fields select all.
type PostingFilter struct {
	PartnerID int64
	Kind      PostingKind
	From, To  time.Time // when they were posted
}

// Ledger lists the postings to the balances of partners, newest first.
func (c *Client) Ledger(ctx context.Context, f PostingFilter) iter.Seq2[Posting, error] {
	q := url.Values{}
	if f.PartnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(f.PartnerID, 10))
	}
	if f.Kind != "" {
		q.Set("kind", string(f.Kind))
	}
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return rest.All[Posting](ctx, c.rest, rest.Target(base+"ledger", q))
}

// LedgerFrom returns the moment from which sales count in the balances.
func (c *Client) LedgerFrom(ctx context.Context) (LedgerFrom, error) {
	return get[LedgerFrom](ctx, c, base+"ledger/from")
}

// Balances returns the balances of a partner that are not zero.
func (c *Client) Balances(ctx context.Context, partnerID int64) (BalanceList, error) {
	return get[BalanceList](ctx, c, partnerPath(partnerID, "/balances"))
}

// Adjust corrects the balance of a partner.
func (c *Client) Adjust(ctx context.Context, a NewAdjustment, options ...Option) (Posting, error) {
	return once[Posting](ctx, c, base+"ledger/adjustments", a, options)
}

// Terms returns all terms of a partner, the latest first.
func (c *Client) Terms(ctx context.Context, partnerID int64) (TermsList, error) {
	return get[TermsList](ctx, c, partnerPath(partnerID, "/terms"))
}

// AddTerms gives a partner new terms.
func (c *Client) AddTerms(ctx context.Context, partnerID int64, t NewTerms) (Terms, error) {
	return post[Terms](ctx, c, partnerPath(partnerID, "/terms"), t)
}

// Statements returns the statements of a partner, newest first.
func (c *Client) Statements(ctx context.Context, partnerID int64) iter.Seq2[Statement, error] {
	return rest.All[Statement](ctx, c.rest, partnerPath(partnerID, "/statements"))
}

// Statement returns a statement of a partner with a page of its lines, oldest first, after a line; 0 starts
// with the first.
func (c *Client) Statement(ctx context.Context, partnerID, number, after int64) (StatementWithLines, error) {
	path := partnerPath(partnerID, "/statements/"+strconv.FormatInt(number, 10))
	return get[StatementWithLines](ctx, c, rest.Target(path, url.Values{"cursor": {rest.Number(after)}}))
}
