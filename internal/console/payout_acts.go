package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/payout"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// proven refuses an admin without a second factor.
func (p *Payouts) proven(v *Visit) error {
	if p.OneProof || v.User.SecondFactor {
		return nil
	}
	return fault.New(fault.Conflict, codeSecondFactor,
		"Payouts need a second factor. Add one on the page Security of your account, then come back.")
}

// file answers with the file of a run for the bank.
func (p *Payouts) file(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := p.proven(v); err != nil {
		return err
	}
	run, err := p.run(r)
	if err != nil {
		return err
	}
	job := export.Job{
		Table: p.Exports.Payout(run.ID), Format: export.CSV, By: v.Actor(),
		Check: func(ctx context.Context) error { return v.Common().Area.Recheck(ctx, r, v) },
	}
	file := wire.File{
		Name: export.FileName(job.Table, job.Format, p.Exports.Now()), ContentType: job.Format.ContentType(),
	}
	return wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error {
		return p.Exports.Run(ctx, to, job)
	})
}

// askedFor returns a parameter of the page that asks, or of its form.
func askedFor(r *http.Request, name string) string {
	if r.Method == http.MethodPost {
		return ui.FormText(r, name)
	}
	return r.URL.Query().Get(name)
}

// prepare makes a run.
func (p *Payouts) prepare(r *http.Request, v *Visit) (area.Action, error) {
	currency := askedFor(r, "currency")
	if currency == "" && r.Method == http.MethodGet {
		return area.Action{Skip: v.Path(payoutsPath)}, nil
	}
	due, err := p.Store.Preview(r.Context(), currency)
	if err != nil {
		return area.Action{}, err
	}
	sum, included := int64(0), 0
	for _, d := range due {
		if d.Reason == "" && d.Currency == currency {
			sum += d.Amount
			included++
		}
	}
	if included == 0 {
		return area.Action{}, area.NotFound()
	}
	call := p.call("The same by API", http.MethodPost, "/operator/v1/payouts")
	call.JSON = area.JSON(map[string]any{"currency": currency})
	says := []string{
		fmt.Sprintf("The run reserves %s for %s. Nothing is sent to the bank yet.",
			money.Text(sum, currency), plural.Of(included, "partner")),
	}
	if left := len(due) - included; left > 0 {
		says = append(says, fmt.Sprintf("It leaves out %s; the page before says why.", plural.Of(left, "partner")))
	}
	return area.Action{
		Ask: ui.Confirm{
			Heading: "Prepare a payout run in " + currency, Says: says, Call: &call, Cancel: v.Path(payoutsPath),
			Hidden: []ui.Param{area.Nonce(), {Name: "currency", Value: currency}},
			Button: ui.Button{Label: "Prepare the run", Busy: "Reserving…"},
		},
		Refused: p.proven(v),
		Create: func(ctx context.Context) (to, done string, err error) {
			o := payout.Order{Currency: currency}
			if o.Idempotency, err = p.area.Once(r, v); err != nil {
				return "", "", err
			}
			run, err := p.Store.Prepare(ctx, v.Actor(), o)
			return v.Path(payoutsPath+"/%d", run.ID), "The run is prepared. Download the file for the bank.", err
		},
	}, nil
}

// settleWords describes each settlement.
var settleWords = map[payout.LineState]struct{ title, says, label string }{
	payout.Sent: {"was sent", "The bank has the transfers.", "It was sent"},
	payout.Paid: {"was paid", "The amounts count as paid. Only an adjustment takes that back.", "It was paid"},
	payout.LineFailed: {
		"failed", "The bank refused the transfer. The amount stays reserved until you release it.", "It failed",
	},
	payout.Released: {
		"is released", "The amounts are payable again. Release nothing that the bank may still pay.", "Release it",
	},
}

// settle records what the bank did with a run, or with one of its lines.
func (p *Payouts) settle(r *http.Request, v *Visit) (area.Action, error) {
	run, err := p.run(r)
	if err != nil {
		return area.Action{}, err
	}
	s := payout.Settlement{RunID: run.ID, State: payout.LineState(askedFor(r, "state"))}
	words, known := settleWords[s.State]
	if !known {
		return area.Action{}, area.NotFound()
	}
	of := fmt.Sprintf("Run %d", run.ID)
	one := askedFor(r, "partner")
	if one != "" {
		id, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return area.Action{}, area.NotFound()
		}
		s.Partners = []int64{id}
		of = fmt.Sprintf("The payout to partner %d", id)
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/payouts/%d/settle", run.ID))
	call.JSON = area.JSON(map[string]any{"state": string(s.State), "reference": "2026-11-19/0815"})
	view := ui.Confirm{
		Heading: of + " " + words.title, Says: []string{words.says}, Call: &call,
		Hidden: []ui.Param{{Name: "state", Value: string(s.State)}, {Name: "partner", Value: one}},
		Button: ui.Button{Label: words.label, Busy: "Storing…"}, Cancel: v.Path(payoutsPath+"/%d", run.ID),
	}
	if s.State == payout.Paid {
		view.Fields = []ui.Field{{
			Name: "reference", Label: "Reference of the bank", Required: true, Autocomplete: "off",
		}}
	}
	if s.State == payout.LineFailed || s.State == payout.Released {
		view.Fields = []ui.Field{{Name: "reason", Label: "Reason", Required: true, Autocomplete: "off"}}
	}
	return area.Action{Ask: view, Refused: p.proven(v), Do: func(ctx context.Context) (string, error) {
		s.Reference = ui.FormText(r, "reference")
		s.Reason = ui.FormText(r, "reason")
		_, err := p.Store.Settle(ctx, v.Actor(), s)
		return "The run is up to date.", err
	}}, nil
}
