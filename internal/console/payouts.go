package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/payout"
	"claviger/internal/ui"
)

// Payouts serves the pages about payout runs.
type Payouts struct {
	section

	Store    *payout.Store
	Exports  *export.Exporter
	OneProof bool // an admin without a second factor may pay, as in claviger dev
}

const (
	preparePath    = payoutsPath + "/prepare"
	payoutPath     = payoutsPath + "/{run}"
	payoutFilePath = payoutPath + "/file"
	settlePath     = payoutPath + "/settle"
)

func (p *Payouts) table() []Route {
	return slices.Concat(
		[]Route{
			row(Page, payoutsPath, account.Read, p.payouts),
			row(Page, payoutPath, account.Read, p.payout),
			row(Page, payoutFilePath, account.Admin, p.file),
		},
		act(preparePath, account.Admin, p.prepare),
		act(settlePath, account.Admin, p.settle),
	)
}

// payoutsView is the page of what is due, and of all runs.
type payoutsView struct {
	Prepare []ui.Tab // the pages that prepare a run, by currency
	Due     ui.Table
	Runs    ui.Results
	Curl    ui.Curl
}

// payouts shows what is due and the runs.
func (p *Payouts) payouts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	due, err := p.Store.Preview(r.Context(), "")
	if err != nil {
		return err
	}
	runs, next, err := p.Store.Runs(r.Context(), before(r), perPage)
	if err != nil {
		return err
	}
	view := payoutsView{
		Runs: ui.Results{
			Table: p.runTable(v, runs), Pager: pager(r, "Pages of payout runs", next),
			Nothing: ui.Empty{Title: "No payout runs", Text: "A run pays what is due in one currency."},
		},
		Curl: p.call("The same by API", http.MethodGet, "/operator/v1/payouts/due"),
	}
	if view.Due, err = p.dueTable(r.Context(), v, due); err != nil {
		return err
	}
	for _, currency := range payableIn(due) {
		if v.May(account.Admin) {
			view.Prepare = append(view.Prepare, ui.Tab{
				Label: "Prepare a run in " + currency + "…", URL: v.Path(preparePath) + "?currency=" + currency,
			})
		}
	}
	return p.render(w, r, v, "payouts", ui.View{Title: "Payouts", Data: view})
}

// payableIn returns the currencies in which a run would pay someone.
func payableIn(due []payout.Due) (list []string) {
	for _, d := range due {
		if d.Reason == "" && !slices.Contains(list, d.Currency) {
			list = append(list, d.Currency)
		}
	}
	slices.Sort(list)
	return list
}

// dueShown is the maximum number of partners on a page.
const dueShown = 500

// dueTable lists payable balances, those of the next run first.
func (p *Payouts) dueTable(ctx context.Context, v *Visit, due []payout.Due) (ui.Table, error) {
	t := ui.Table{
		ID: "due", Caption: "Due now", Cards: true,
		Columns: []ui.Column{
			{Label: "Partner"}, {Label: "Amount", Number: true}, {Label: "Next run"}, {Label: "Why", Wrap: true},
		},
	}
	slices.SortStableFunc(due, func(a, b payout.Due) int { return len(a.Reason) - len(b.Reason) })
	due = due[:min(len(due), dueShown)]
	names, err := partner.ByID(ctx, p.Store.DB, ids(due, func(d *payout.Due) int64 { return d.PartnerID }))
	for _, d := range due {
		state := "included"
		if d.Reason != "" {
			state = "left out"
		}
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{
			{Text: names[d.PartnerID].Name, URL: v.Path(partnersPath+"/%d", d.PartnerID)},
			{Text: money.Text(d.Amount, d.Currency)},
			{Status: state},
			{Text: dash(d.Reason.Text())},
		}})
	}
	return t, err
}

// runTable lists runs.
func (p *Payouts) runTable(v *Visit, runs []payout.Run) ui.Table {
	t := ui.Table{
		ID: "runs", Caption: "Payout runs, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Run"},
			{Label: "State"},
			{Label: "Amount", Number: true},
			{Label: "Partners", Number: true},
			{Label: "Left out", Number: true},
			{Label: "Prepared", Named: true},
		},
	}
	for _, run := range runs {
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("run-%d", run.ID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("Run %d", run.ID), URL: v.Path(payoutsPath+"/%d", run.ID)},
			{Status: string(run.State)},
			{Text: money.Text(run.Amount, run.Currency)},
			{Text: fmt.Sprint(run.Lines)},
			{Text: fmt.Sprint(len(run.LeftOut))},
			{At: run.CreatedAt},
		}})
	}
	return t
}

// payoutView is the page of a run.
type payoutView struct {
	Heading string
	Run     payout.Run
	Amount  string
	Acts    []ui.Tab
	Lines   ui.Results
	LeftOut ui.Table
	Curl    ui.Curl
}

// payout shows a run with its lines.
func (p *Payouts) payout(w http.ResponseWriter, r *http.Request, v *Visit) error {
	run, err := p.run(r)
	if err != nil {
		return err
	}
	lines, next, err := p.Store.Lines(r.Context(), run.ID, before(r), perPage)
	if err != nil {
		return err
	}
	table, err := p.lineTable(r.Context(), v, lines)
	if err != nil {
		return err
	}
	view := payoutView{
		Heading: fmt.Sprintf("Payout run %d", run.ID), Run: run, Amount: money.Text(run.Amount, run.Currency),
		Lines: ui.Results{Table: table, Pager: pager(r, "Pages of lines", next)},
		Curl:  p.call("The same by API", http.MethodGet, fmt.Sprintf("/operator/v1/payouts/%d/lines", run.ID)),
	}
	if run.State != payout.Done && run.State != payout.Failed && v.May(account.Admin) {
		self := v.Path(payoutsPath+"/%d", run.ID)
		view.Acts = []ui.Tab{
			{Label: "File for the bank", URL: self + "/file"},
			{Label: "It was sent…", URL: self + "/settle?state=sent"},
			{Label: "It was paid…", URL: self + "/settle?state=paid"},
		}
		if run.State == payout.Prepared {
			view.Acts = append(view.Acts, ui.Tab{Label: "Release it…", URL: self + "/settle?state=released"})
		}
	}
	if view.LeftOut, err = p.leftOutTable(r.Context(), v, run); err != nil {
		return err
	}
	return p.render(w, r, v, "payout", ui.View{Title: view.Heading, Data: view})
}

// run returns the run of the path.
func (p *Payouts) run(r *http.Request) (payout.Run, error) {
	run, err := p.Store.Run(r.Context(), area.ID(r, "run"))
	return run, area.Missing(err)
}

// lineTable lists the lines of a run with their acts.
func (p *Payouts) lineTable(ctx context.Context, v *Visit, lines []payout.Line) (ui.Table, error) {
	t := ui.Table{
		ID: "lines", Caption: "Payouts of the run", Cards: true,
		Columns: []ui.Column{
			{Label: "Partner"},
			{Label: "Amount", Number: true},
			{Label: "State"},
			{Label: "Reference"},
			{Label: "Answer of the bank", Wrap: true},
			{Label: "Changed", Named: true},
		},
	}
	names, err := partner.ByID(ctx, p.Store.DB, ids(lines, func(l *payout.Line) int64 { return l.PartnerID }))
	for _, l := range lines {
		answer := l.BankReference
		if l.Reason != "" {
			answer = l.Reason
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("line-%d", l.PartnerID), Cells: []ui.Cell{
			{
				Text: names[l.PartnerID].Name, URL: v.Path(partnersPath+"/%d", l.PartnerID),
				Acts: ui.Links(lineActs(v, l)...),
			},
			{Text: money.Text(l.Amount, l.Currency)},
			{Status: string(l.State)},
			{Text: l.Reference, Code: true},
			{Text: dash(answer)},
			{At: l.UpdatedAt},
		}})
	}
	return t, err
}

// lineActs returns the links that settle a line.
func lineActs(v *Visit, l payout.Line) (links []ui.RowLink) {
	if !v.May(account.Admin) {
		return nil
	}
	for _, to := range []struct {
		state payout.LineState
		label string
	}{{payout.Paid, "Paid…"}, {payout.LineFailed, "Failed…"}, {payout.Released, "Release…"}} {
		if l.May(to.state) {
			links = append(links, ui.RowLink{Label: to.label, URL: fmt.Sprintf(
				"%s?state=%s&partner=%d", v.Path(payoutsPath+"/%d/settle", l.RunID), to.state, l.PartnerID,
			)})
		}
	}
	return links
}

// leftOutTable lists the partners that a run left out.
func (p *Payouts) leftOutTable(ctx context.Context, v *Visit, run payout.Run) (ui.Table, error) {
	t := ui.Table{
		ID: "left-out", Caption: "Left out", Cards: true,
		Columns: []ui.Column{{Label: "Partner"}, {Label: "Balance", Number: true}, {Label: "Why", Wrap: true}},
	}
	list := run.LeftOut[:min(len(run.LeftOut), dueShown)]
	names, err := partner.ByID(ctx, p.Store.DB, ids(list, func(l *payout.LeftOut) int64 { return l.PartnerID }))
	for _, l := range list {
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{
			{Text: names[l.PartnerID].Name, URL: v.Path(partnersPath+"/%d", l.PartnerID)},
			{Text: money.Text(l.Amount, run.Currency)},
			{Text: l.Reason.Text()},
		}})
	}
	return t, err
}
