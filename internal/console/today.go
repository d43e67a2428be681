package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/revenue"
	"claviger/internal/today"
	"claviger/internal/ui"
)

// todayLivePath is the stream of the first page.
const todayLivePath = "/today/live"

// Today serves the first page, with the items that need attention.
type Today struct {
	section
	Store   *today.Store
	Revenue *revenue.Store
	Live    *live.Versions // made by TodayLive
}

// TodayLive notifies open first pages, with one read for all of them.
func TodayLive(book *today.Store, log *slog.Logger) *live.Versions {
	return &live.Versions{Log: log, Read: func(ctx context.Context, topics []int64) (map[int64]string, error) {
		report, err := book.Recent(ctx)
		if err != nil {
			return nil, err
		}
		found := make(map[int64]string, len(topics))
		for _, topic := range topics {
			found[topic] = report.Version()
		}
		return found, nil
	}}
}

func (t *Today) table() []Route {
	return []Route{
		row(Page, todayPath, account.Read, t.today),
		row(Stream, todayLivePath, account.Read, t.todayLive),
	}
}

// todayView is the first page.
type todayView struct {
	Groups  []todayGroup
	Revenue area.RevenueView // not updated live
	Curl    ui.Curl
}

// todayGroup is the items of one kind.
type todayGroup struct {
	ID    string
	Title string
	Why   string // explanation
	Items []todayItem
	Rest  string // number of items not listed, "" for none
	All   string // page that lists all of them, or ""
}

// todayItem is one thing to do.
type todayItem struct {
	ID     string
	Title  string
	URL    string // makes the title a link
	Text   string
	Since  time.Time
	Until  time.Time
	Ends   string // label of Until
	Button string // label of the button, "" if the person can do nothing about it here
	Of     string // the partner, for screen readers
	Link   string // target of the link, or
	Action string // target of the form
	Hidden []ui.Param
}

func (t *Today) today(w http.ResponseWriter, r *http.Request, v *Visit) error {
	report, err := t.Store.Read(r.Context())
	if err != nil {
		return err
	}
	earned, err := t.Revenue.Recent(r.Context(), revenue.Query{})
	if err != nil {
		return err
	}
	data := t.todayData(v, report)
	data.Revenue = area.RecentRevenue(earned, false, area.ExportURL(v.Path(exportsPath), export.Revenue, nil))
	view := todayPage(data)
	view.Stream = v.Path(todayLivePath) + "?since=" + report.Version()
	return t.render(w, r, v, "today", view)
}

// todayPage returns the page.
func todayPage(data todayView) ui.View {
	return ui.View{Title: "Today", Fragment: "today-now", Data: data}
}

// todayData describes a report.
func (t *Today) todayData(v *Visit, report today.Report) todayView {
	view := todayView{Curl: t.call("The same by API", http.MethodGet, "/operator/v1/today")}
	for _, g := range report.Groups {
		view.Groups = append(view.Groups, t.group(v, g))
	}
	return view
}

// todayLive sends the page again whenever it changes.
func (t *Today) todayLive(w http.ResponseWriter, r *http.Request, v *Visit) error {
	ready := live.NewSignal()
	watch := t.Live.Watch(0, area.LastSeen(r), ready)
	defer watch.Close()
	return t.area.Follow(w, r, v, ready, func(ctx context.Context) ([]ui.Message, error) {
		version, changed := watch.Take()
		if !changed {
			return nil, nil
		}
		report, err := t.Store.Recent(ctx)
		if err != nil {
			return nil, err
		}
		part, err := t.Site.Pages.Part(r.WithContext(ctx), "today", todayPage(t.todayData(v, report)))
		if err != nil {
			return nil, err
		}
		return []ui.Message{{ID: version, Data: part}}, nil
	})
}

// group describes the items of a kind.
func (t *Today) group(v *Visit, g today.Group) todayGroup {
	w := todayWords[g.Kind]
	out := todayGroup{ID: "today-" + string(g.Kind), Title: w.title, Why: w.why}
	if w.all != "" && t.area.Has(w.all, v) {
		out.All = v.Path("%s", w.all) + w.query
	}
	for n, i := range g.Items {
		item := t.item(v, i)
		item.ID = fmt.Sprintf("%s-%d", out.ID, n)
		out.Items = append(out.Items, item)
	}
	switch {
	case g.More:
		out.Rest = fmt.Sprintf("More than %d more", g.Rest)
	case g.Rest > 0:
		out.Rest = fmt.Sprintf("%d more", g.Rest)
	}
	return out
}
