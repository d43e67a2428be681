package operator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/wire"
)

// ledgerRoutes returns the routes of the ledger and of the terms of partners.
func (o *Operator) ledgerRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/ledger", o.listPostings),
		on(account.Read, "GET", "/ledger/from", o.ledgerFrom),
		on(account.Admin, "PUT", "/ledger/from", o.moveLedgerFrom),
		on(account.Admin, "POST", "/ledger/adjustments", o.adjust),
		on(account.Read, "GET", "/partners/{id}/balances", o.listBalances),
		on(account.Read, "GET", "/partners/{id}/terms", o.listTerms),
		on(account.Admin, "POST", "/partners/{id}/terms", o.addTerms),
		list("/partners/{id}/statements", o.aboutPartner(o.PartnerStatements)),
		list("/partners/{id}/statements/{number}", o.aboutPartner(o.PartnerStatement)),
	}
}

// postingJSON is a posting on the wire.
type postingJSON struct {
	ID         int64         `json:"id"`
	Kind       string        `json:"kind"`
	PartnerID  int64         `json:"partner_id"`
	PurchaseID int64         `json:"purchase_id"` // 0: none
	Tier       int           `json:"tier"`        // likewise
	Source     string        `json:"source"`
	Gross      int64         `json:"gross"`
	Currency   string        `json:"currency"`
	Lines      []balanceJSON `json:"lines"`
	Reason     string        `json:"reason"`
	At         wire.Time     `json:"at"`
	CreatedAt  wire.Time     `json:"created_at"`
}

// balanceJSON is a line of a posting, or a balance, on the wire.
type balanceJSON struct {
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

func balanceOf(b ledger.Balance) balanceJSON {
	return balanceJSON{string(b.Account), b.Amount, b.Currency}
}

func postingOf(p ledger.Posting) postingJSON {
	out := postingJSON{
		ID: p.ID, Kind: string(p.Kind), PartnerID: p.PartnerID, PurchaseID: p.PurchaseID, Tier: p.Tier,
		Source: p.Source, Gross: p.Gross, Currency: p.Currency, Lines: make([]balanceJSON, len(p.Lines)),
		Reason: p.Reason,
		At:     wire.Time(p.At), CreatedAt: wire.Time(p.CreatedAt),
	}
	for i, l := range p.Lines {
		out.Lines[i] = balanceOf(l)
	}
	return out
}

// listPostings lists postings, newest first.
func (o *Operator) listPostings(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "partner_id", "kind", "from", "to", "cursor", "page", "limit")
	if err != nil {
		return err
	}
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	var f ledger.Find
	if f.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return err
	}
	if f.Kind, err = ledger.ParseKind(q.Get("kind")); err != nil {
		return err
	}
	if f.From, f.To, err = timesOf(q); err != nil {
		return err
	}
	found, err := ledger.FindPostings(r.Context(), o.Service.DB, f, before, int(p.Limit))
	if err != nil {
		return err
	}
	cursorAnswer(w, r, p, found.Next, found.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.ListOf(found.Postings, postingOf))
}

// adjustmentBody is an adjustment of a partner's balance.
type adjustmentBody struct {
	PartnerID int64  `json:"partner_id"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	Reason    string `json:"reason"`
}

func (o *Operator) adjust(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b adjustmentBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	if err := cmp.Or(partnerID(b.PartnerID), number("amount", b.Amount, -maxAmount, maxAmount)); err != nil {
		return err
	}
	a := accounting.Adjustment{PartnerID: b.PartnerID, Amount: b.Amount, Currency: b.Currency, Reason: b.Reason}
	if a.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	if a.Idempotency.Key == "" {
		return fault.New(fault.Invalid, codeIdempotencyRequired,
			"Send an Idempotency-Key header, so that a repeated adjustment is not posted twice.")
	}
	p, err := o.Accounting.Adjust(r.Context(), actor(t), a)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, postingOf(p))
}

func (o *Operator) listBalances(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	list, err := ledger.Balances(r.Context(), o.Service.DB, p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, balanceOf))
}

// termsJSON are terms of a partner on the wire.
type termsJSON struct {
	ID           int64          `json:"id"`
	PartnerID    int64          `json:"partner_id"`
	BeginsAt     wire.Time      `json:"begins_at"`
	Share        int64          `json:"share"`
	Plans        []shareJSON    `json:"plans"`
	Fees         string         `json:"fees"`
	PayableAfter int            `json:"payable_after"` // -1: the refund_days of the product
	Smallest     []smallestJSON `json:"smallest_payout"`
	CreatedAt    wire.Time      `json:"created_at"`
}

// shareJSON is the share of sales of one plan, on the wire.
type shareJSON struct {
	Tier  int   `json:"tier"`
	Share int64 `json:"share"`
}

// smallestJSON is the smallest payout in one currency, on the wire.
type smallestJSON struct {
	Currency string `json:"currency"`
	Amount   int64  `json:"amount"`
}

func termsOf(t ledger.Terms) termsJSON {
	out := termsJSON{
		ID: t.ID, PartnerID: t.PartnerID, BeginsAt: wire.Time(t.BeginsAt), Share: t.ShareBP, Plans: []shareJSON{},
		Fees: string(t.Bears), PayableAfter: t.Days, Smallest: []smallestJSON{}, CreatedAt: wire.Time(t.CreatedAt),
	}
	for _, tier := range slices.Sorted(maps.Keys(t.Plans)) {
		out.Plans = append(out.Plans, shareJSON{tier, t.Plans[tier]})
	}
	for _, currency := range slices.Sorted(maps.Keys(t.Smallest)) {
		out.Smallest = append(out.Smallest, smallestJSON{currency, t.Smallest[currency]})
	}
	return out
}

func (o *Operator) listTerms(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	list, err := ledger.History(r.Context(), o.Service.DB, p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, termsOf))
}

// termsBody are new terms of a partner.
type termsBody struct {
	BeginsAt     *wire.Time     `json:"begins_at"` // nil: now
	Share        *int64         `json:"share"`
	Plans        []shareJSON    `json:"plans"`
	Fees         *string        `json:"fees"`          // nil: the marketplace bears them
	PayableAfter *int           `json:"payable_after"` // nil: -1
	Smallest     []smallestJSON `json:"smallest_payout"`
}

// terms converts the body for package ledger.
func (b termsBody) terms() (ledger.Terms, error) {
	t := ledger.Terms{
		Plans: map[int]int64{}, Bears: ledger.MarketplaceBears, Days: ledger.RefundDays,
		Smallest: map[string]int64{},
	}
	if b.Share == nil {
		return t, fault.Field("share", "is missing. Say what the partner earns, in basis points: 7000 is 70 %%.")
	}
	t.ShareBP = *b.Share
	if b.Fees != nil {
		t.Bears = ledger.Bearer(*b.Fees)
	}
	if b.PayableAfter != nil {
		t.Days = *b.PayableAfter
	}
	if b.BeginsAt != nil {
		t.BeginsAt = time.Time(*b.BeginsAt)
	}
	for _, p := range b.Plans {
		if _, twice := t.Plans[p.Tier]; twice {
			return t, fault.Field("plans", "must have each tier once; tier %d is there twice.", p.Tier)
		}
		t.Plans[p.Tier] = p.Share
	}
	for _, p := range b.Smallest {
		if _, twice := t.Smallest[p.Currency]; twice {
			return t, fault.Field("smallest_payout", "must have each currency once; %s is there twice.", p.Currency)
		}
		t.Smallest[p.Currency] = p.Amount
	}
	return t, nil
}

func (o *Operator) addTerms(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if _, err := o.Partners.Get(r.Context(), pathID(r)); err != nil {
		return err
	}
	var b termsBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	terms, err := b.terms()
	if err != nil {
		return err
	}
	added, err := o.Accounting.AddTerms(r.Context(), actor(t), pathID(r), terms)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, termsOf(added))
}
