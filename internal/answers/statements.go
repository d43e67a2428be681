package answers

import (
	"net/http"
	"net/url"
	"strconv"

	"claviger/internal/paging"
	"claviger/internal/statement"
	"claviger/internal/wire"
)

// statementAnswer is the statement of a month on the wire, without its number.
type statementAnswer struct {
	Month       string    `json:"month"`
	Currency    string    `json:"currency"`
	BeginsAt    wire.Time `json:"begins_at"`
	EndsAt      wire.Time `json:"ends_at"`
	Opening     int64     `json:"opening"`
	Sales       int64     `json:"sales"`
	Settled     int64     `json:"settled"`
	Refunds     int64     `json:"refunds"`
	Disputes    int64     `json:"disputes"`
	Fees        int64     `json:"fees"`
	Adjustments int64     `json:"adjustments"`
	Payouts     int64     `json:"payouts"`
	Closing     int64     `json:"closing"`
}

// closedAnswer is a closed statement on the wire.
type closedAnswer struct {
	Number int64 `json:"number"`
	statementAnswer
	CreatedAt wire.Time `json:"created_at"`
}

// linedAnswer is a closed statement with a page of its lines on the wire.
type linedAnswer struct {
	closedAnswer
	Lines wire.Envelope[lineAnswer] `json:"lines"`
}

// lineAnswer is a line of a statement on the wire.
type lineAnswer struct {
	ID         int64     `json:"id"`
	Kind       string    `json:"kind"`
	PurchaseID int64     `json:"purchase_id"` // 0: none
	Tier       int       `json:"tier"`        // likewise
	Amount     int64     `json:"amount"`
	Reason     string    `json:"reason"`
	At         wire.Time `json:"at"`
	PostedAt   wire.Time `json:"posted_at"`
}

func statementOf(s statement.Statement) statementAnswer {
	return statementAnswer{
		Month: s.Month.String(), Currency: s.Currency, BeginsAt: wire.Time(s.BeginsAt), EndsAt: wire.Time(s.EndsAt),
		Opening: s.Opening, Sales: s.Sales, Settled: s.Settled, Refunds: s.Refunds, Disputes: s.Disputes, Fees: s.Fees,
		Adjustments: s.Adjustments, Payouts: s.Payouts, Closing: s.Closing,
	}
}

func closedOf(s statement.Statement) closedAnswer {
	return closedAnswer{Number: s.Number, statementAnswer: statementOf(s), CreatedAt: wire.Time(s.CreatedAt)}
}

func lineOf(l statement.Line) lineAnswer {
	return lineAnswer{
		ID: l.ID, Kind: string(l.Kind), PurchaseID: l.PurchaseID, Tier: l.Tier, Amount: l.Amount, Reason: l.Reason,
		At: wire.Time(l.At), PostedAt: wire.Time(l.PostedAt),
	}
}

// numberCursor reads the limit and the cursor of a list. The cursor is a number; 0 is the first page.
func numberCursor(r *http.Request) (p paging.Page, at int64, err error) {
	var q url.Values
	if q, err = wire.Query(r, "cursor", "page", "limit"); err != nil {
		return p, 0, err
	}
	if p, err = cursorPage(q); err != nil || !q.Has("cursor") {
		return p, 0, err
	}
	at, err = strconv.ParseInt(q.Get("cursor"), 10, 64)
	if err != nil || at < 1 {
		return p, 0, errCursor()
	}
	return p, at, nil
}

// numberHeaders sets the headers of such a page; 0: there is no next one.
func numberHeaders(w http.ResponseWriter, r *http.Request, p paging.Page, next int64) {
	cursor := ""
	if next > 0 {
		cursor = strconv.FormatInt(next, 10)
	}
	wire.CursorHeaders(w, r, p, cursor)
}

// PartnerStatements answers with the statements of a partner, newest first.
func (c *Common) PartnerStatements(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	p, before, err := numberCursor(r)
	if err != nil {
		return err
	}
	list, next, err := c.Statements.List(r.Context(), partnerID, before, int(p.Limit))
	if err != nil {
		return err
	}
	numberHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, closedOf))
}

// PathStatement returns the statement of a partner in the path.
func (c *Common) PathStatement(r *http.Request, partnerID int64) (statement.Statement, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return statement.Statement{}, statement.Unknown(r.PathValue("number"))
	}
	return c.Statements.Get(r.Context(), partnerID, number)
}

// PartnerStatement answers with a statement of a partner and a page of its lines, oldest first.
func (c *Common) PartnerStatement(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	p, after, err := numberCursor(r)
	if err != nil {
		return err
	}
	s, err := c.PathStatement(r, partnerID)
	if err != nil {
		return err
	}
	lines, next, err := c.Statements.Lines(r.Context(), s, after, int(p.Limit))
	if err != nil {
		return err
	}
	numberHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, linedAnswer{closedOf(s), wire.ListOf(lines, lineOf)})
}
