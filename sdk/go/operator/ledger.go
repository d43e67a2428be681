package operator

import (
	"context"
	"io"
	"iter"
	"net/http"
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

// SetLedgerFrom changes the moment from which sales count in the balances.
func (c *Client) SetLedgerFrom(ctx context.Context, from time.Time) (LedgerFrom, error) {
	return call[LedgerFrom](ctx, c, http.MethodPut, base+"ledger/from", NewLedgerFrom{From: from})
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

// Payouts lists the payout runs, newest first.
func (c *Client) Payouts(ctx context.Context) iter.Seq2[Payout, error] {
	return rest.All[Payout](ctx, c.rest, base+"payouts")
}

// DuePayouts returns the payable balances in a currency, "" in every one, and says which of them a run would
// include.
func (c *Client) DuePayouts(ctx context.Context, currency string) (DueList, error) {
	q := url.Values{}
	if currency != "" {
		q.Set("currency", currency)
	}
	return get[DueList](ctx, c, rest.Target(base+"payouts/due", q))
}

// PreparePayout reserves the payable balances in a currency for a run.
func (c *Client) PreparePayout(ctx context.Context, p NewPayout, options ...Option) (Payout, error) {
	return once[Payout](ctx, c, base+"payouts", p, options)
}

// Payout returns a payout run.
func (c *Client) Payout(ctx context.Context, id int64) (Payout, error) {
	return get[Payout](ctx, c, payoutPath(id, ""))
}

// PayoutLines lists the lines of a run, one per partner.
func (c *Client) PayoutLines(ctx context.Context, id int64) iter.Seq2[PayoutLine, error] {
	return rest.All[PayoutLine](ctx, c.rest, payoutPath(id, "/lines"))
}

// PayoutFile returns the file of a run for the bank. Close it.
func (c *Client) PayoutFile(ctx context.Context, id int64, format ExportFormat) (io.ReadCloser, error) {
	return c.rest.Open(ctx, Request{
		Method: http.MethodGet, Path: payoutPath(id, "/file"), Query: url.Values{"format": {string(format)}},
	})
}

// SettlePayout tells the service what the bank did with lines of a run.
func (c *Client) SettlePayout(ctx context.Context, id int64, s Settlement) (Payout, error) {
	return post[Payout](ctx, c, payoutPath(id, "/settle"), s)
}

func payoutPath(id int64, rest string) string {
	return base + "payouts/" + strconv.FormatInt(id, 10) + rest
}

// RevenueFilter selects revenue; zero fields select all partners, and the days of the last 30 days.
type RevenueFilter struct {
	PartnerID int64
	From, To  time.Time // of days (in UTC) that begin in this span
	By        string    // day, partner or plan; "": day
}

// Revenue reads revenue, refunds, fees and net, per currency.
func (c *Client) Revenue(ctx context.Context, f RevenueFilter) (RevenueReport, error) {
	q := url.Values{}
	if f.PartnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(f.PartnerID, 10))
	}
	if f.By != "" {
		q.Set("by", f.By)
	}
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return get[RevenueReport](ctx, c, rest.Target(base+"revenue", q))
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
