package console

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/revenue"
	"claviger/internal/stats"
	"claviger/internal/ui"
)

// Reports serves the pages with figures, and the exports of whole lists.
type Reports struct {
	section
	Stats    *stats.Store
	Revenue  *revenue.Store
	Partners *partner.Store
	Exports  *export.Exporter
	Live     *live.Versions // of Exports.Versions
}

func (p *Reports) table() []Route {
	return append(p.exportPages().Routes(changes(account.Read)), row(Page, numbersPath, account.Read, p.numbers))
}

// numbersSpans are the possible values of the parameter days. The second is the default.
var numbersSpans = []int{7, 30, 90, 365}

// sellersPerPage is the number of partners per page of the table.
const sellersPerPage = 50

// numbersView is the page with sales figures.
type numbersView struct {
	Of       string // the partner, or all
	All      string // the page for all partners; "" on that page
	Form     ui.Form
	Filters  ui.Filters
	Tabs     ui.Tabs
	Stats    []ui.Stat
	Sold     ui.Chart
	Rates    ui.Chart
	Partners ui.Table
	Pager    ui.Pager
	Links    []ui.Item // into the lists
	Revenue  revenueView
	Behind   time.Time // last counted time, if counting lags behind
	Curl     ui.Curl
}

// salesSpan selects the sales of a page.
type salesSpan struct {
	partnerID int64 // 0: all partners
	days      int
	from      time.Time
}

// list returns the URL of a list of the console, filtered to these sales.
func (s salesSpan) list(v *Visit, path string, partnerID int64, more ...string) string {
	q := url.Values{"from": {s.from.Format(time.RFC3339)}}
	if partnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(partnerID, 10))
	}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return v.Path("%s", path) + "?" + q.Encode()
}

// numbers returns the URL of this page for another partner or span.
func (s salesSpan) numbers(v *Visit, partnerID int64, days int) string {
	to := v.Path(numbersPath) + "?days=" + strconv.Itoa(days)
	if partnerID != 0 {
		to += "&partner_id=" + strconv.FormatInt(partnerID, 10)
	}
	return to
}

// numbers shows sales, activations and refunds per day and partner.
func (p *Reports) numbers(w http.ResponseWriter, r *http.Request, v *Visit) error {
	span := salesSpan{days: numbersSpans[1]}
	for _, days := range numbersSpans {
		if r.URL.Query().Get("days") == strconv.Itoa(days) {
			span.days = days
		}
	}
	view := numbersView{
		Of: "all partners",
		Form: ui.Form{
			Fields: []ui.Field{{Name: "partner_id", Label: "Partner's number", Value: r.URL.Query().Get("partner_id")}},
		},
	}
	span.partnerID = number(r, &view.Form, "partner_id")
	if span.partnerID != 0 && !view.Form.Failed() {
		one, err := p.Partners.Get(r.Context(), span.partnerID)
		switch {
		case fault.Is(err, partner.CodeUnknownPartner):
			view.Form.Refuse(fault.Field("partner_id", "is not the number of a partner."))
		case err != nil:
			return err
		}
		view.Of = one.Name
		view.All = span.numbers(v, 0, span.days)
	}
	view.Filters = ui.Filters{
		Label: "Choose a partner", URL: v.Path(numbersPath), Fields: view.Form.Fields, Active: span.partnerID != 0,
		Hidden: []ui.Param{{Name: "days", Value: span.days}},
	}
	for _, days := range numbersSpans {
		view.Tabs.Items = append(view.Tabs.Items, ui.Tab{
			Label:   plural.Of(days, "day"),
			URL:     span.numbers(v, span.partnerID, days),
			Current: days == span.days,
		})
	}
	view.Tabs.Label = "Time"
	view.Curl = p.call(
		"The same by API",
		http.MethodGet,
		"/operator/v1/stats/sales",
		ui.Param{Name: "days", Value: span.days},
		ui.Param{Name: "partner_id", Value: orNil(span.partnerID)},
	)
	if view.Form.Failed() {
		view.Curl.Query = view.Curl.Query[:1]
		return p.render(w, r, v, "numbers", ui.View{Title: "Numbers", Status: http.StatusBadRequest, Data: view})
	}
	if err := p.addSales(r, v, span, &view); err != nil {
		return err
	}
	return p.render(w, r, v, "numbers", ui.View{Title: "Numbers", Data: view})
}

// addSales adds the figures to the page.
func (p *Reports) addSales(r *http.Request, v *Visit, span salesSpan, view *numbersView) error {
	n, err := p.Stats.Sales(r.Context(), span.partnerID, span.days)
	if err != nil {
		return err
	}
	span.from = n.Days[0].At
	view.Behind = n.CountedTo
	view.Stats = salesStats(v, span, n.Total)
	view.Sold, view.Rates = salesCharts(v, span, n.Days)
	view.Links = []ui.Item{
		{Label: "Licenses sold in this time", URL: span.list(v, licensesPath, span.partnerID)},
		{Label: "Purchases of this time", URL: span.list(v, purchasesPath, span.partnerID)},
		{
			Label: "Those deactivated by now",
			URL:   span.list(v, licensesPath, span.partnerID, "license_status", "deactivated"),
		},
	}
	if err := p.addRevenue(r, v, span, &view.Revenue); err != nil || span.partnerID != 0 {
		return err
	}
	var shown []stats.PartnerSales
	shown, view.Pager = pageOf(r, "page", "Pages of partners", n.Partners, sellersPerPage)
	view.Partners, err = p.sellersTable(r, v, span, shown)
	return err
}

// salesStats returns the figures above the charts.
func salesStats(v *Visit, span salesSpan, total stats.Sales) []ui.Stat {
	days := "in " + plural.Of(span.days, "day")
	return []ui.Stat{
		{Label: "Sold", Value: ui.Count(total.Sold), Note: days, URL: span.list(v, licensesPath, span.partnerID)},
		{
			Label: "Activated within 7 days",
			Value: ui.Percent(total.ActivatedSoon, total.Sold),
			Note:  ui.Count(total.ActivatedSoon) + " of those sold, so far",
		},
		{
			Label: "Refund rate",
			Value: ui.Percent(total.Refunded, total.Sold),
			Note:  ui.Count(total.Refunded) + " of those sold are refunded",
		},
	}
}

// salesCharts draws sales, activations and refunds. Days are UTC in every time zone, because they
// are counted in UTC.
func salesCharts(v *Visit, span salesSpan, days []stats.DaySales) (counts, rates ui.Chart) {
	sold := ui.Series{Name: "Sold"}
	activated := ui.Series{Name: "Activated within 7 days"}
	refunded := ui.Series{Name: "Refunded"}
	activation := ui.Series{Name: "Activated within 7 days"}
	refunds := ui.Series{Name: "Refunded"}
	counts = ui.Chart{ID: "sold", Title: "Licenses by the day they were sold (UTC)", Lines: true}
	rates = ui.Chart{ID: "rates", Title: "Of those sold on the day (UTC)", Lines: true, Unit: "%"}
	layout := dayLayout(len(days))
	for _, d := range days {
		of := salesSpan{from: d.At}
		counts.Labels = append(counts.Labels, d.At.Format(layout))
		counts.URLs = append(
			counts.URLs, of.list(v, licensesPath, span.partnerID, "to", d.At.AddDate(0, 0, 1).Format(time.RFC3339)),
		)
		sold.Values = append(sold.Values, float64(d.Sold))
		activated.Values = append(activated.Values, float64(d.ActivatedSoon))
		refunded.Values = append(refunded.Values, float64(d.Refunded))
		activation.Values = append(activation.Values, percentOf(d.ActivationRate()))
		refunds.Values = append(refunds.Values, percentOf(d.RefundRate()))
	}
	rates.Labels = counts.Labels
	rates.URLs = counts.URLs
	counts.Series = []ui.Series{sold, activated, refunded}
	rates.Series = []ui.Series{activation, refunds}
	return counts, rates
}

// dayLayout returns the layout of days on a chart.
func dayLayout(days int) string {
	if days > 180 {
		return "2 Jan 2006"
	}
	return "2 Jan"
}

// percentOf returns a rate of a chart, NaN if nothing was sold.
func percentOf(rate float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return 100 * rate
}

// sellersTable lists the sales of partners. Names link to the partner's figures, counts to its
// licenses.
func (p *Reports) sellersTable(r *http.Request, v *Visit, span salesSpan, list []stats.PartnerSales) (ui.Table, error) {
	t := ui.Table{ID: "sellers", Caption: "By partner: sold, activated within 7 days, refunded", Columns: []ui.Column{
		{Label: "Partner", Wrap: true},
		{Label: "Sold", Number: true},
		{Label: "Activated", Number: true},
		{Label: "Refunded", Number: true},
	}}
	ids := make([]int64, len(list))
	for i, s := range list {
		ids[i] = s.PartnerID
	}
	names, err := p.Partners.Names(r.Context(), ids)
	if err != nil {
		return t, err
	}
	for _, s := range list {
		name := ui.Cell{Text: names[s.PartnerID], URL: span.numbers(v, s.PartnerID, span.days)}
		if name.Text == "" {
			name = ui.Cell{Text: fmt.Sprintf("Partner %d (deleted)", s.PartnerID)}
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("seller-%d", s.PartnerID), Cells: []ui.Cell{
			name,
			{Text: ui.Count(s.Sold), URL: span.list(v, licensesPath, s.PartnerID)},
			{Text: ui.Count(s.ActivatedSoon), Note: ui.Percent(s.ActivatedSoon, s.Sold)},
			{Text: ui.Count(s.Refunded), Note: ui.Percent(s.Refunded, s.Sold)},
		}})
	}
	return t, nil
}
