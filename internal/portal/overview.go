package portal

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/profile"
	"claviger/internal/revenue"
	"claviger/internal/stats"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

const (
	overviewPath = "/overview"
	tryPath      = overviewPath + "/try"
)

// overviewDays is the number of days of sales on the page.
const overviewDays = 30

// spans are the spans of time for deliveries, by the parameter hours.
var spans = []struct {
	hours int
	label string
}{{24, "24 hours"}, {7 * 24, "7 days"}}

// overviewView is the page with a partner's figures and the health of its endpoint.
type overviewView struct {
	State    endpointState
	Stats    []ui.Stat
	Causes   causesView
	Revenue  area.RevenueView
	Days     ui.Chart
	Tabs     ui.Tabs
	Attempts ui.Chart
	Latency  ui.Chart
	Timeline ui.Timeline
	Behind   time.Time // last counted time, if counting lags behind
	Calls    []ui.Curl
}

// overviewFacts is the data of the page.
type overviewFacts struct {
	profile profile.Profile
	health  webhook.EndpointHealth
	numbers stats.Numbers
	revenue revenue.RecentReport
	causes  []history.Cause
	more    bool // there are failed deliveries beyond the causes
	acts    []audit.Entry
	names   map[int64]string // of the people in acts
}

func (h *Handler) overview(_ *http.Request, v *Visit) (area.Shown, error) {
	return area.Shown{
		Versions: h.Live.overview, Topic: v.Partner.ID, Page: "overview",
		View: func(r *http.Request) (ui.View, string, error) { return h.overviewView(r, v) },
		Attempts: func(ready live.Signal) *live.Watch[history.Fresh] {
			return h.Live.attempts.WatchWith(v.Partner.ID, ready)
		},
	}, nil
}

func (h *Handler) overviewView(r *http.Request, v *Visit) (ui.View, string, error) {
	hours := spans[0].hours
	if r.URL.Query().Get("hours") == strconv.Itoa(spans[1].hours) {
		hours = spans[1].hours
	}
	f, err := h.overviewFacts(r, v, hours)
	if err != nil {
		return ui.View{}, "", err
	}
	zone := ui.Zone(r)
	view := overviewView{
		State: h.endpointState(v, f), Stats: overviewStats(v, f), Causes: h.causesView(v, f), Timeline: timeline(f),
		Days: daysChart(f.numbers.Days), Tabs: spanTabs(v, hours), Attempts: attemptsChart(f.numbers.Hours, zone),
		Latency: latencyChart(f.numbers.Hours, zone),
		Behind:  f.numbers.CountedTo,
		Revenue: area.RecentRevenue(f.revenue, true, area.ExportURL(v.Path(exportsPath), export.Revenue, nil)),
		Calls: []ui.Curl{
			h.call(
				"These numbers by API", http.MethodGet, "/v2/stats", ui.Param{Name: "days", Value: overviewDays},
				ui.Param{Name: "hours", Value: hours},
			),
			h.call("The state by API", http.MethodGet, "/v2/endpoint"),
			h.call("Have it tried by API", http.MethodPost, "/v2/endpoint/try"),
		},
	}
	return ui.View{Title: "Overview", Fragment: "overview-now", Data: view}, view.State.Title, nil
}

// overviewFacts reads the data of the page. Each read is bounded, for every size of partner.
func (h *Handler) overviewFacts(r *http.Request, v *Visit, hours int) (f overviewFacts, err error) {
	ctx := r.Context()
	id := v.Partner.ID
	if f.profile, err = h.Profiles.Read(ctx, h.Profiles.DB, id); err != nil {
		return f, err
	}
	if f.health, err = h.Webhooks.EndpointHealth(ctx, id); err != nil {
		return f, err
	}
	if f.causes, f.more, err = h.History.Causes(ctx, id); err != nil {
		return f, err
	}
	if f.numbers, err = h.Stats.Read(ctx, id, stats.Query{Days: overviewDays, Hours: hours}); err != nil {
		return f, err
	}
	f.revenue, err = h.Revenue.Recent(ctx, revenue.Query{PartnerID: id, Own: true})
	if err != nil {
		return f, err
	}
	acts, _, err := h.Audit.History(
		ctx, id, audit.Span{From: h.Now().Add(-time.Duration(hours) * time.Hour), Limit: maxActs},
	)
	if err != nil {
		return f, err
	}
	for _, e := range acts {
		if changesDelivery[e.Action] {
			f.acts = append(f.acts, e)
		}
	}
	f.names, err = h.historyNames(ctx, f.acts)
	return f, err
}

// try makes the service retry the endpoint immediately.
func (h *Handler) try(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := h.Webhooks.TryNow(r.Context(), v.Actor(), v.Partner.ID); err != nil {
		return err
	}
	return h.done(
		w, r, v, overviewPath, "We try your webhook URL now. What it answers stands below within a few seconds.",
	)
}

// spanTabs returns the tabs for the span of time.
func spanTabs(v *Visit, hours int) ui.Tabs {
	t := ui.Tabs{Label: "Time"}
	for _, s := range spans {
		t.Items = append(
			t.Items, ui.Tab{Label: s.label, URL: v.Path(overviewPath+"?hours=%d", s.hours), Current: s.hours == hours},
		)
	}
	return t
}

// overviewStats returns the figures above the charts.
func overviewStats(v *Visit, f overviewFacts) []ui.Stat {
	var sold, activated, deactivated, succeeded, failed int64
	for _, d := range f.numbers.Days {
		sold += d.Sold
		activated += d.Activated
		deactivated += d.Deactivated
	}
	var latency stats.Histogram
	last := f.numbers.Hours[max(len(f.numbers.Hours)-24, 0):]
	for _, hour := range last {
		succeeded += hour.Succeeded
		failed += hour.Failed
		latency.Plus(hour.Latency)
	}
	days := "in " + plural.Of(overviewDays, "day")
	list := []ui.Stat{
		{Label: "Sold", Value: ui.Count(sold), Note: days},
		{Label: "Activated", Value: ui.Count(activated), Note: days},
		{Label: "Deactivated", Value: ui.Count(deactivated), Note: days},
	}
	if total := succeeded + failed; total > 0 {
		s := ui.Stat{
			Label: "Attempts that succeeded", Value: ui.Percent(succeeded, total),
			Note: ui.Count(total) + " in 24 hours", URL: v.Path("/deliveries"),
		}
		if failed > 0 {
			s.Tone = "warn"
		}
		list = append(list, s)
	}
	if p95, ok := latency.Quantile(0.95); ok {
		p50, _ := latency.Quantile(0.5)
		list = append(
			list,
			ui.Stat{Label: "Answered within (p95)", Value: milliseconds(p95), Note: "half within " + milliseconds(p50)},
		)
	}
	return list
}

func milliseconds(d time.Duration) string { return ui.Count(d.Milliseconds()) + " ms" }

// daysChart draws the changes of licenses per day. Days are UTC in every time zone, because they
// are counted in UTC.
func daysChart(days []stats.Day) ui.Chart {
	sold := ui.Series{Name: "Sold"}
	activated := ui.Series{Name: "Activated"}
	deactivated := ui.Series{Name: "Deactivated"}
	c := ui.Chart{ID: "days", Title: "Licenses per day (UTC)", Lines: true}
	for _, d := range days {
		c.Labels = append(c.Labels, d.At.Format("2 Jan"))
		sold.Values = append(sold.Values, float64(d.Sold))
		activated.Values = append(activated.Values, float64(d.Activated))
		deactivated.Values = append(deactivated.Values, float64(d.Deactivated))
	}
	c.Series = []ui.Series{sold, activated, deactivated}
	return c
}

// hourLabels formats hours in the person's time zone.
func hourLabels(hours []stats.Hour, zone *time.Location) []string {
	layout := "15:04 UTC"
	if len(hours) > 24 {
		layout = "2 Jan 15:04 UTC"
	}
	labels := make([]string, len(hours))
	for i, hour := range hours {
		labels[i] = ui.FormatTime(hour.At.In(zone), layout)
	}
	return labels
}

func attemptsChart(hours []stats.Hour, zone *time.Location) ui.Chart {
	succeeded := ui.Series{Name: "Succeeded"}
	failed := ui.Series{Name: "Failed"}
	for _, hour := range hours {
		succeeded.Values = append(succeeded.Values, float64(hour.Succeeded))
		failed.Values = append(failed.Values, float64(hour.Failed))
	}
	return ui.Chart{
		ID: "attempts", Title: "Attempts to deliver per hour", Labels: hourLabels(hours, zone),
		Series: []ui.Series{succeeded, failed},
	}
}

func latencyChart(hours []stats.Hour, zone *time.Location) ui.Chart {
	p50 := ui.Series{Name: "p50"}
	p95 := ui.Series{Name: "p95"}
	value := func(h stats.Histogram, q float64) float64 {
		d, ok := h.Quantile(q)
		if !ok {
			return math.NaN()
		}
		return float64(d.Milliseconds())
	}
	for _, hour := range hours {
		p50.Values = append(p50.Values, value(hour.Latency, 0.5))
		p95.Values = append(p95.Values, value(hour.Latency, 0.95))
	}
	return ui.Chart{
		ID: "latency", Title: "How long your server took to answer", Lines: true, Unit: "ms",
		Labels: hourLabels(hours, zone), Series: []ui.Series{p50, p95},
	}
}
