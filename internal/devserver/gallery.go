package devserver

import (
	"math"
	"net/http"
	"time"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// galleryPath shows every page part, for people who build pages.
const galleryPath = "/dev/gallery"

// gallery is the data of that page. The numbers are made up.
type gallery struct {
	At        time.Time
	Stats     []ui.Stat
	Sold      ui.Chart
	Latency   ui.Chart
	Nothing   ui.Chart
	Tabs      ui.Tabs
	Table     ui.Table
	Filters   ui.Filters
	Pager     ui.Pager
	Timeline  ui.Timeline
	Curl      ui.Curl
	Signed    ui.Code
	Key       string
	Form      ui.Form
	Badges    []string
	LastPager ui.Pager
}

// galleryRoutes returns the route of the gallery.
func galleryRoutes(pages *ui.Pages) []wire.Route {
	return []wire.Route{pageRoute(pages, galleryPath, func(w http.ResponseWriter, r *http.Request) error {
		return pages.Render(w, r, "gallery", ui.View{
			Title: "Gallery", Wide: true, NoIndex: true, Person: "ann@example.com", Data: newGallery(),
			Menu: []ui.Item{
				{Label: "Overview", URL: galleryPath, Current: true},
				{Label: "Deliveries", URL: galleryPath},
				{Label: "Settings", URL: galleryPath},
			},
		})
	})}
}

func newGallery() gallery {
	at := time.Date(2026, time.November, 15, 14, 2, 0, 0, time.UTC)
	g := gallery{
		At: at,
		Stats: []ui.Stat{
			{Label: "Delivered", Value: "12,408", Note: "in the last 24 hours", URL: galleryPath},
			{Label: "Success", Value: "99.2 %", Note: "the day before: 99.9 %", Tone: "good"},
			{Label: "Waiting", Value: "31", Note: "oldest for 12 minutes", URL: galleryPath, Tone: "warn"},
			{Label: "Failed", Value: "8", Note: "all with status 401", URL: galleryPath, Tone: "bad"},
		},
		Tabs: ui.Tabs{Label: "Delivery", Items: []ui.Tab{
			{Label: "All", URL: galleryPath, Count: "12,447", Current: true},
			{Label: "Delivered", URL: galleryPath, Count: "12,408"},
			{Label: "Waiting", URL: galleryPath, Count: "31"},
			{Label: "Failed", URL: galleryPath, Count: "8"},
			{Label: "Settings", URL: galleryPath},
		}},
		Filters: ui.Filters{Label: "Filter deliveries", URL: galleryPath, Active: true, Fields: []ui.Field{
			{Name: "filter-event", Label: "Event", Type: "select", Value: "", Options: []ui.Option{
				{Value: "", Label: "All"}, {Value: "activate", Label: "Activate"},
			}},
			{Name: "filter-code", Label: "Status code", Value: "401"},
			{Name: "filter-from", Label: "From", Type: "datetime-local"},
		}},
		Pager: ui.Pager{
			Label: "Pages of deliveries", Showing: "51 to 100 of 12,447", Prev: galleryPath,
			Next: galleryPath,
		},
		LastPager: ui.Pager{Label: "Pages of deliveries, at their end", Prev: galleryPath},
		Timeline:  galleryTimeline(at),
		Curl: ui.Curl{
			What: "The same by API", URL: "https://market.example/v2/licenses",
			Query: []ui.Param{{Name: "status", Value: "active"}},
		},
		Signed: ui.Code{
			Label: "Signed text",
			Text: "msg_2x7Qk.1794837720." +
				`{"event":"purchase","license_key":"3f0c6a1e-9b7d-4c55-8a8e-2f9d1b7c4e60"}`,
		},
		Key:  "3f0c6a1e-9b7d-4c55-8a8e-2f9d1b7c4e60",
		Form: galleryForm(),
		Badges: []string{
			"active", "delivered", "inactive", "pending", "retrying", "paused", "deactivated", "failed",
			"refunded",
		},
	}
	g.Sold, g.Latency = galleryCharts(at)
	g.Nothing = ui.Chart{ID: "nothing", Title: "Refunds per day"}
	g.Table = galleryTable(at)
	return g
}

func galleryTable(at time.Time) ui.Table {
	t := ui.Table{ID: "deliveries", Caption: "Deliveries", Columns: []ui.Column{
		{Label: "Event"},
		{Label: "State"},
		{Label: "License"},
		{Label: "Answer"},
		{Label: "Attempts", Number: true},
		{Label: "Duration", Number: true},
		{Label: "Time"},
	}}
	for i, c := range []struct{ event, state, key, answer, note, attempts, took string }{
		{"purchase", "delivered", "…7c4e60", "200", "", "1", "48 ms"},
		{"activate", "retrying", "…1d90ab", "401", "the signature was rejected", "3", "61 ms"},
		{"upgrade", "failed", "…aa02f3", "no answer", "timed out after 15 s", "9", "15,000 ms"},
		{"deactivate", "pending", "…55e0c1", "", "", "0", ""},
		{"purchase", "delivered", "…90b7d4", "204", "", "2", "1,204 ms"},
	} {
		id := "delivery-" + string(rune('a'+i))
		t.Rows = append(t.Rows, ui.Row{ID: id, Cells: []ui.Cell{
			{Text: c.event, URL: galleryPath + "#" + id},
			{Status: c.state},
			{Text: c.key, Code: true},
			{Text: c.answer, Note: c.note},
			{Text: c.attempts},
			{Text: c.took, Acts: ui.Links(
				ui.RowLink{Label: "Send again", Of: c.event + " " + c.key, URL: galleryPath + "#" + id},
			)},
			{At: at.Add(-time.Duration(i) * 7 * time.Minute)},
		}})
	}
	return t
}

func galleryTimeline(at time.Time) ui.Timeline {
	return ui.Timeline{Label: "What happened to this license", Entries: []ui.TimelineEntry{
		{
			At: at, Title: "Sent again", Status: "failed",
			Text: "Your server answered 401: it rejected the request as unauthorized.",
		},
		{
			At: at.Add(-9 * time.Minute), Title: "The webhook secret was rotated",
			Text: "By ann@example.com. The old secret works until 16 November, 13:53 UTC.",
		},
		{
			At: at.Add(-time.Hour), Title: "Activated", URL: galleryPath, Status: "active",
			Text: "The buyer connected the license to their account.",
		},
		{At: at.Add(-2 * time.Hour), Title: "Sold", Status: "paid", Text: "Tier 2 for $119.00."},
	}}
}

func galleryCharts(at time.Time) (sold, latency ui.Chart) {
	sold = ui.Chart{
		ID: "sold", Title: "Licenses per day",
		Series: []ui.Series{{Name: "activated"}, {Name: "sold, not activated"}, {Name: "deactivated"}},
	}
	latency = ui.Chart{
		ID: "latency", Title: "Time to answer", Lines: true, Unit: "ms",
		Series: []ui.Series{{Name: "p50"}, {Name: "p95"}},
	}
	const days = 30
	for i := range days {
		label := at.AddDate(0, 0, i-days+1).Format("2 Jan")
		sold.Labels = append(sold.Labels, label)
		latency.Labels = append(latency.Labels, label)
		wave := math.Sin(float64(i)*0.7) + 1.4
		for k, size := range []float64{38, 16, 5} {
			sold.Series[k].Values = append(sold.Series[k].Values, math.Round(wave*size))
		}
		p50 := 40 + wave*12
		p95 := 120 + wave*wave*70
		if i == 11 || i == 12 { // nothing was sent
			p50, p95 = math.NaN(), math.NaN()
		}
		latency.Series[0].Values = append(latency.Series[0].Values, math.Round(p50))
		latency.Series[1].Values = append(latency.Series[1].Values, math.Round(p95))
	}
	return sold, latency
}

func galleryForm() ui.Form {
	return ui.Form{Fields: []ui.Field{
		{
			Name: "url", Label: "Webhook URL", Type: "url", Value: "http://shop.example/hook", Required: true,
			Error: "Use a URL that begins with https://.",
		},
		{Name: "outcome", Label: "Outcome", Type: "select", Value: "failed", Required: true, Options: []ui.Option{
			{Value: "", Label: "All"}, {Value: "delivered", Label: "Delivered"}, {Value: "failed", Label: "Failed"},
		}},
		{Name: "event", Label: "Event", Type: "select", Options: []ui.Option{
			{Value: "", Label: "All"}, {Value: "purchase", Label: "purchase"},
		}},
		{
			Name: "body", Label: "Body", Type: "textarea", Rows: 5, Hint: "It is sent with test set to true.",
			Value: "{\n  \"event\": \"purchase\",\n  \"tier\": 2\n}",
		},
		{
			Name: "strict", Label: "Refuse unknown members", Type: "checkbox", Checked: true,
			Hint: "A request with a member that we do not know answers 400.",
		},
		{
			Name: "agree", Label: "I have stored the new secret", Type: "checkbox", Required: true,
			Error: "Confirm that you have stored it.",
		},
	}}
}
