package operator

import (
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/payout"
	"claviger/internal/wire"
)

// payoutRoutes returns the routes of payout runs.
func (o *Operator) payoutRoutes(
	auth *wire.AuthRoutes[account.Token],
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/payouts", o.listPayouts),
		list("/payouts/due", o.listDue),
		on(account.Admin, "POST", "/payouts", o.preparePayout),
		on(account.Read, "GET", "/payouts/{id}", o.getPayout),
		list("/payouts/{id}/lines", o.listPayoutLines),
		auth.RouteWithQuery("GET", "/operator/v1/payouts/{id}/file", o.payoutFile, may(account.Admin)),
		on(account.Admin, "POST", "/payouts/{id}/settle", o.settlePayout),
	}
}

// payoutJSON is a payout run on the wire.
type payoutJSON struct {
	ID        int64         `json:"id"`
	Currency  string        `json:"currency"`
	State     string        `json:"state"`
	Lines     int64         `json:"lines"`
	Amount    int64         `json:"amount"`
	LeftOut   []leftOutJSON `json:"left_out"`
	CreatedAt wire.Time     `json:"created_at"`
	UpdatedAt wire.Time     `json:"updated_at"`
}

// leftOutJSON is a partner that a run left out, on the wire.
type leftOutJSON struct {
	PartnerID int64  `json:"partner_id"`
	Amount    int64  `json:"amount"`
	Reason    string `json:"reason"`
	Says      string `json:"says"`
}

func payoutOf(run payout.Run) payoutJSON {
	out := payoutJSON{
		ID: run.ID, Currency: run.Currency, State: string(run.State), Lines: run.Lines, Amount: run.Amount,
		LeftOut: []leftOutJSON{}, CreatedAt: wire.Time(run.CreatedAt), UpdatedAt: wire.Time(run.UpdatedAt),
	}
	for _, l := range run.LeftOut {
		out.LeftOut = append(out.LeftOut, leftOutJSON{l.PartnerID, l.Amount, string(l.Reason), l.Reason.Text()})
	}
	return out
}

// payoutLineJSON is a line of a run on the wire.
type payoutLineJSON struct {
	PartnerID     int64     `json:"partner_id"`
	Amount        int64     `json:"amount"`
	Currency      string    `json:"currency"`
	State         string    `json:"state"`
	Reference     string    `json:"reference"`
	BankReference string    `json:"bank_reference"`
	Reason        string    `json:"reason"`
	UpdatedAt     wire.Time `json:"updated_at"`
}

func payoutLineOf(l payout.Line) payoutLineJSON {
	return payoutLineJSON{
		PartnerID: l.PartnerID, Amount: l.Amount, Currency: l.Currency, State: string(l.State), Reference: l.Reference,
		BankReference: l.BankReference, Reason: l.Reason, UpdatedAt: wire.Time(l.UpdatedAt),
	}
}

// dueJSON is what a run would pay a partner, on the wire.
type dueJSON struct {
	PartnerID int64  `json:"partner_id"`
	Currency  string `json:"currency"`
	Amount    int64  `json:"amount"`
	Reason    string `json:"reason"` // "": a run includes it
	Says      string `json:"says"`
}

func dueOf(d payout.Due) dueJSON {
	return dueJSON{d.PartnerID, d.Currency, d.Amount, string(d.Reason), d.Reason.Text()}
}

func (o *Operator) listPayouts(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "cursor", "page", "limit")
	if err != nil {
		return err
	}
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	runs, next, err := o.Payouts.Runs(r.Context(), before, int(p.Limit))
	if err != nil {
		return err
	}
	cursorAnswer(w, r, p, next, time.Time{})
	return wire.JSON(w, http.StatusOK, wire.ListOf(runs, payoutOf))
}

// listDue lists the payable balances, and says which of them a run would include.
func (o *Operator) listDue(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "currency")
	if err != nil {
		return err
	}
	due, err := o.Payouts.Preview(r.Context(), q.Get("currency"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(due, dueOf))
}

// payoutBody asks for a run.
type payoutBody struct {
	Currency string  `json:"currency"`
	Partners []int64 `json:"partners"` // nil: all
}

func (o *Operator) preparePayout(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b payoutBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	order := payout.Order{Currency: b.Currency, Partners: b.Partners}
	if order.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	if order.Idempotency.Key == "" {
		return fault.New(fault.Invalid, codeIdempotencyRequired,
			"Send an Idempotency-Key header, so that a repeated request does not make a second run.")
	}
	run, err := o.Payouts.Prepare(r.Context(), actor(t), order)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, payoutOf(run))
}

func (o *Operator) getPayout(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	run, err := o.Payouts.Run(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, payoutOf(run))
}

func (o *Operator) listPayoutLines(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "cursor", "page", "limit")
	if err != nil {
		return err
	}
	p, after, err := cursor(q)
	if err != nil {
		return err
	}
	run, err := o.Payouts.Run(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	lines, next, err := o.Payouts.Lines(r.Context(), run.ID, after, int(p.Limit))
	if err != nil {
		return err
	}
	cursorAnswer(w, r, p, next, time.Time{})
	return wire.JSON(w, http.StatusOK, wire.ListOf(lines, payoutLineOf))
}

// payoutFile answers with the file of a run for the bank.
func (o *Operator) payoutFile(w http.ResponseWriter, r *http.Request, t account.Token) error {
	q, err := wire.Query(r, "format")
	if err != nil {
		return err
	}
	format, err := export.ParseFormat(q.Get("format"))
	if err != nil {
		return err
	}
	run, err := o.Payouts.Run(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return o.send(w, r, t, o.Exports.Payout(run.ID), format, account.Admin)
}

// settleBody is the answer of the bank, or a decision, for lines of a run.
type settleBody struct {
	State     string  `json:"state"`
	Partners  []int64 `json:"partners"` // nil: all that this state can follow
	Reference string  `json:"reference"`
	Reason    string  `json:"reason"`
}

func (o *Operator) settlePayout(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b settleBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	found, err := o.Payouts.Run(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	run, err := o.Payouts.Settle(r.Context(), actor(t), payout.Settlement{
		RunID: found.ID, State: payout.LineState(b.State), Partners: b.Partners, Reference: b.Reference,
		Reason: b.Reason,
	})
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, payoutOf(run))
}
