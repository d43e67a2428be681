package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
)

// revenueRows is the number of rows of a table of partners or plans, per page.
const revenueRows = 50

// chartedCurrencies is the maximum number of charts of money.
const chartedCurrencies = 3

// revenueView is the money on the page with figures.
type revenueView struct {
	Totals   ui.Table
	Notes    []string
	Charts   []ui.Chart
	Partners ui.Table // or of the plans of one partner
	Pager    ui.Pager
	Plans    ui.Table // of all partners, the best ones
	Export   string
	Behind   bool
	Curl     ui.Curl
}

// addRevenue adds the money to the page.
func (p *Reports) addRevenue(r *http.Request, v *Visit, span salesSpan, view *revenueView) error {
	q := revenue.Query{PartnerID: span.partnerID, First: span.from, Last: span.from.AddDate(0, 0, span.days-1)}
	before := q
	before.First = q.First.AddDate(0, 0, -span.days)
	before.Last = q.First.AddDate(0, 0, -1)
	days, err := p.Revenue.Read(r.Context(), q)
	if err != nil {
		return err
	}
	old, err := p.Revenue.Read(r.Context(), before)
	if err != nil {
		return err
	}
	q.By = revenue.ByPlan
	plans, err := p.Revenue.Read(r.Context(), q)
	if err != nil {
		return err
	}
	view.Behind = !days.CountedTo.IsZero()
	view.Totals, view.Notes = revenueTotals(span, days.Rows, old.Rows)
	view.Charts = revenueCharts(span, days.Rows)
	view.Export = span.list(v, exportsPath, span.partnerID, "list", string(export.Revenue))
	view.Curl = p.call(
		"The same by API", http.MethodGet, "/operator/v1/revenue",
		ui.Param{Name: "from", Value: span.from.Format(time.RFC3339)}, ui.Param{Name: "by", Value: "plan"},
		ui.Param{Name: "partner_id", Value: orNil(span.partnerID)},
	)
	return p.addSellers(r, v, span, plans.Rows, view)
}

// byCurrency adds up rows per currency, the one with most sales first.
func byCurrency(rows []revenue.Row) (codes []string, sums map[string]revenue.Sums) {
	sums = map[string]revenue.Sums{}
	for _, row := range rows {
		sum := sums[row.Currency]
		sum.Plus(row.Sums)
		sums[row.Currency] = sum
	}
	for code := range sums {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(x, y string) int {
		return cmp.Or(cmp.Compare(sums[y].Sales, sums[x].Sales), cmp.Compare(x, y))
	})
	return codes, sums
}

// revenueTotals lists the sums of each currency, with those of the same time before.
func revenueTotals(span salesSpan, days, before []revenue.Row) (t ui.Table, notes []string) {
	days = slices.Clone(days)
	for _, row := range before { // a currency may have only sums of the time before
		days = append(days, revenue.Row{Currency: row.Currency})
	}
	codes, now := byCurrency(days)
	_, old := byCurrency(before)
	layout := area.Revenue{}
	for _, code := range codes {
		layout.Undivided = layout.Undivided || now[code].Undivided != 0 || old[code].Undivided != 0
	}
	length := plural.Of(span.days, "day")
	t = layout.Table("revenue-totals", "Revenue in "+length+", and in the "+length+" before", "Currency")
	for _, code := range codes {
		sums := old[code]
		t.Rows = append(t.Rows, layout.Row(ui.Cell{Text: code, Note: "before"}, code, now[code], &sums))
		if direct := now[code].Direct; direct != 0 {
			notes = append(notes, fmt.Sprintf("Partners collected %s of the revenue.", money.Text(direct, code)))
		}
	}
	return t, notes
}

// revenueCharts draws a chart per currency. Days are in UTC, as in the sums.
func revenueCharts(span salesSpan, rows []revenue.Row) (charts []ui.Chart) {
	codes, _ := byCurrency(rows)
	of := map[string]map[time.Time]revenue.Sums{}
	for _, row := range rows {
		if of[row.Currency] == nil {
			of[row.Currency] = map[time.Time]revenue.Sums{}
		}
		of[row.Currency][row.Day] = row.Sums
	}
	for _, code := range codes[:min(len(codes), chartedCurrencies)] {
		chart := ui.Chart{ID: "revenue-" + code, Title: "Revenue by day (UTC), " + code, Lines: true, Currency: code}
		paid := ui.Series{Name: "Revenue"}
		refunds := ui.Series{Name: "Refunds"}
		net := ui.Series{Name: "Net"}
		for i := range span.days {
			day := span.from.AddDate(0, 0, i)
			sums := of[code][day]
			chart.Labels = append(chart.Labels, day.Format(dayLayout(span.days)))
			paid.Values = append(paid.Values, float64(sums.Revenue))
			refunds.Values = append(refunds.Values, float64(sums.Refunds))
			net.Values = append(net.Values, float64(sums.Net()))
		}
		chart.Series = []ui.Series{paid, refunds, net}
		charts = append(charts, chart)
	}
	return charts
}

// sortRevenue sorts rows by currency, the one with most sales first, and by revenue.
func sortRevenue(rows []revenue.Row) {
	codes, _ := byCurrency(rows)
	slices.SortStableFunc(rows, func(x, y revenue.Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(codes, x.Currency), slices.Index(codes, y.Currency)),
			cmp.Compare(y.Revenue, x.Revenue),
		)
	})
}

// addSellers adds the tables of partners and of plans.
func (p *Reports) addSellers(r *http.Request, v *Visit, span salesSpan, plans []revenue.Row, view *revenueView) error {
	sortRevenue(plans)
	shown := plans
	if span.partnerID == 0 {
		shown = byPartner(plans)
	}
	shown, view.Pager = pageOf(r, "sellers", "Pages of revenue", shown, revenueRows)
	best := plans[:min(len(plans), revenueRows)]
	ids := make([]int64, 0, len(shown)+len(best))
	for _, row := range slices.Concat(shown, best) {
		ids = append(ids, row.PartnerID)
	}
	names, err := p.Partners.Names(r.Context(), ids)
	if err != nil {
		return err
	}
	plan, err := p.planNames(r.Context(), slices.Concat(shown, best))
	if err != nil {
		return err
	}
	ofPartner := func(row revenue.Row) ui.Cell {
		if names[row.PartnerID] == "" {
			return ui.Cell{Text: fmt.Sprintf("Partner %d (deleted)", row.PartnerID)}
		}
		return ui.Cell{Text: names[row.PartnerID], URL: span.numbers(v, row.PartnerID, span.days)}
	}
	if span.partnerID != 0 {
		view.Partners = moneyTable("revenue-plans", "Revenue by plan", "Plan", shown, plan)
		return nil
	}
	view.Partners = moneyTable("revenue-partners", "Revenue by partner", "Partner", shown, ofPartner)
	caption := "Revenue by plan"
	if len(plans) > len(best) {
		caption = fmt.Sprintf("Revenue by plan: the first %d of %s", len(best), ui.Count(int64(len(plans))))
	}
	view.Plans = moneyTable("revenue-plans", caption, "Plan", best, func(row revenue.Row) ui.Cell {
		cell := plan(row)
		cell.Note = ofPartner(row).Text
		return cell
	})
	return nil
}

// byPartner adds up the plans of each partner.
func byPartner(plans []revenue.Row) (list []revenue.Row) {
	type key struct {
		partnerID int64
		currency  string
	}
	at := map[key]int{}
	for _, row := range plans {
		k := key{row.PartnerID, row.Currency}
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, revenue.Row{PartnerID: row.PartnerID, Currency: row.Currency})
		}
		list[i].Plus(row.Sums)
	}
	sortRevenue(list)
	return list
}

// moneyTable lists sums. name returns the first cell of a row.
func moneyTable(id, caption, first string, rows []revenue.Row, name func(revenue.Row) ui.Cell) ui.Table {
	layout := area.Revenue{Undivided: slices.ContainsFunc(rows, func(r revenue.Row) bool { return r.Undivided != 0 })}
	t := layout.Table(id, caption, first)
	t.Cards = false // cards of many rows would be long
	for _, row := range rows {
		out := layout.Row(name(row), row.Currency, row.Sums, nil)
		out.ID = fmt.Sprintf("%s-%d-%d-%s", id, row.PartnerID, row.Tier, row.Currency)
		t.Rows = append(t.Rows, out)
	}
	return t
}

// planNames returns the cell with the name of a row's plan. A deleted plan has only its tier.
func (p *Reports) planNames(ctx context.Context, rows []revenue.Row) (func(revenue.Row) ui.Cell, error) {
	type key struct {
		partnerID int64
		tier      int
	}
	names := map[key]string{}
	err := p.Partners.DB.Read(ctx, func(tx *sqldb.Tx) error {
		queued := map[int64]*sqldb.Result[partner.Plan]{}
		for _, row := range rows {
			if queued[row.PartnerID] == nil {
				queued[row.PartnerID] = partner.QueuePlanNames(tx, row.PartnerID)
			}
		}
		for id, result := range queued {
			plans, err := result.All(ctx)
			if err != nil {
				return fmt.Errorf("read the names of plans: %w", err)
			}
			for _, plan := range plans {
				names[key{id, plan.Tier}] = plan.Name
			}
		}
		return nil
	})
	return func(row revenue.Row) ui.Cell {
		return ui.Cell{Text: cmp.Or(names[key{row.PartnerID, row.Tier}], fmt.Sprintf("Tier %d", row.Tier))}
	}, err
}

// pageOf returns a page of a list. param is the parameter with the number of the page.
func pageOf[T any](r *http.Request, param, label string, list []T, size int) (shown []T, pager ui.Pager) {
	page, _ := strconv.Atoi(r.URL.Query().Get(param)) // anything but a number means the first page
	page = min(max(page, 1), (len(list)+size-1)/size)
	first := max(page-1, 0) * size
	shown = list[first:min(first+size, len(list))]
	pager = ui.Pager{
		Label:   label,
		Showing: fmt.Sprintf("%d to %d of %s", first+1, first+len(shown), ui.Count(int64(len(list)))),
	}
	if page > 1 {
		pager.Prev = area.WithParam(r, param, strconv.Itoa(page-1))
	}
	if first+len(shown) < len(list) {
		pager.Next = area.WithParam(r, param, strconv.Itoa(page+1))
	}
	return shown, pager
}
