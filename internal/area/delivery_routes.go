package area

import (
	"context"
	"net/http"
	"strconv"

	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// deliveriesPerPage is the number of rows of a list of deliveries.
const deliveriesPerPage = 50

// DeliveryList selects the deliveries of a list.
type DeliveryList struct {
	DeliveryQuery
	Partner int64 // 0: of all partners
	Lead    string
	Call    ui.Curl // the API call for the same list
}

// DeliverySide is the portal or the console, as the pages of deliveries see it.
type DeliverySide interface {
	// DeliveryList reads the filters of a list.
	DeliveryList(r *http.Request, v Visit) (DeliveryList, error)
	// CompleteList adds acts and the reason that a list is empty. It returns the cells of partners, nil
	// if all rows are of one.
	CompleteList(
		r *http.Request, v Visit, l DeliveryList, found []history.OfPartner, view *DeliveriesView,
	) (map[int64]ui.Cell, error)
	// OwnerOf returns the partner of an event.
	OwnerOf(r *http.Request, v Visit, event int64) (partner.Partner, error)
	// DeliveryPages returns the names and links of the pages about a delivery of the partner.
	DeliveryPages(r *http.Request, v Visit, p partner.Partner, senders []int64) (DeliveryPages, error)
	// WatchAttempts watches attempts for partners that the visitor may see.
	WatchAttempts(v Visit, ready live.Signal) *live.Watch[history.Fresh]
	// DeliveryVersions has the versions of deliveries, by event.
	DeliveryVersions() *live.Versions
}

// Deliveries serves the list of deliveries, and the pages and the act about one.
type Deliveries struct {
	Side     DeliverySide
	Rule     Rule
	History  history.Reader
	Webhooks *webhook.Outbox
}

// Routes returns the rows of deliveries.
func (d *Deliveries) Routes() []Route {
	const one = DeliveriesPath + "/{delivery}"
	rows := []Route{
		{Kind: Page, Path: DeliveriesPath, Needs: d.Rule(Page, false), Serve: d.list},
		{Kind: Stream, Path: DeliveriesPath + "/live", Needs: d.Rule(Stream, false), Serve: d.follow},
	}
	rows = append(rows, Lives(one, d.Rule, d.delivery)...)
	rows = append(rows, Lives(one+"/attempts/{attempt}", d.Rule, d.delivery)...)
	return append(rows, Actions(one+"/send", d.Rule, d.send)...)
}

// list shows the deliveries that match the query.
func (d *Deliveries) list(w http.ResponseWriter, r *http.Request, v Visit) error {
	l, err := d.Side.DeliveryList(r, v)
	if err != nil {
		return err
	}
	view := DeliveriesView{Lead: l.Lead, Form: l.Form, Curl: l.Call, Filters: ui.Filters{
		Label: "Filter deliveries", URL: v.Path(DeliveriesPath), Fields: l.Form.Fields,
		Active: Query(r.URL.Query(), "live", "after") != "", Fold: true,
	}}
	page := ui.View{Title: "Deliveries"}
	if l.Form.Failed() {
		page.Status = http.StatusBadRequest
		page.Data = view
		return v.Common().Area.Render(w, r, v, "deliveries", page)
	}
	after, _ := history.ParseKey(r.URL.Query().Get("after")) // an invalid key means the newest
	if after.IsZero() && l.Filter.To.IsZero() {
		// before the list is read, so that later attempts are announced
		newest, err := d.History.NewestAttempt(r.Context())
		if err != nil {
			return err
		}
		page.Stream = view.live(r, newest)
	}
	list, err := d.History.ListAll(r.Context(), l.Partner, l.Filter, after, deliveriesPerPage)
	if err != nil {
		return err
	}
	partners, err := d.Side.CompleteList(r, v, l, list.Deliveries, &view)
	if err != nil {
		return err
	}
	view.Results.Filters = view.Filters
	view.Results.Table = deliveryTable{v.Path, Query(r.URL.Query(), "live"), partners}.of(list.Deliveries)
	next := ""
	first := ""
	if !list.Next.IsZero() {
		next = WithParam(r, "after", list.Next.String())
	}
	if !after.IsZero() {
		first = WithParam(r, "after", "")
	}
	view.leadOn(next, first, list.SearchedTo)
	page.Data = view
	return v.Common().Area.Render(w, r, v, "deliveries", page)
}

// follow streams new attempts to an open list.
func (d *Deliveries) follow(w http.ResponseWriter, r *http.Request, v Visit) error {
	l, err := d.Side.DeliveryList(r, v)
	if err != nil {
		return err
	}
	watch := d.Side.WatchAttempts(v, live.NewSignal())
	return v.Common().Area.followDeliveries(w, r, v, watch, l.Filter, l.Partner)
}

// delivery shows a delivery with its last attempt, updated live, or with the attempt of the path,
// which is fixed.
func (d *Deliveries) delivery(r *http.Request, v Visit) (Shown, error) {
	event := ID(r, "delivery")
	attempt := int64(0)
	if r.PathValue("attempt") != "" {
		if attempt = ID(r, "attempt"); attempt <= 0 {
			return Shown{}, NotFound()
		}
	}
	if _, _, _, err := d.exchange(r, v, event, attempt); err != nil {
		return Shown{}, err
	}
	return Shown{
		Versions: d.Side.DeliveryVersions(), Topic: event, Page: "delivery",
		View: func(r *http.Request) (ui.View, string, error) {
			pages, detail, e, err := d.exchange(r, v, event, attempt)
			if err != nil {
				return ui.View{}, "", err
			}
			view, says := pages.view(detail, e)
			return view, says, nil
		},
	}, nil
}

// exchange reads a delivery and one of its attempts (0: the last), and returns the builder of its
// pages.
func (d *Deliveries) exchange(
	r *http.Request, v Visit, event, attempt int64,
) (pages DeliveryPages, detail history.Detail, e history.Exchange, err error) {
	p, err := d.Side.OwnerOf(r, v, event)
	if err == nil {
		detail, e, err = d.History.Exchange(r.Context(), p.ID, event, attempt)
	}
	if err == nil {
		pages, err = d.Side.DeliveryPages(r, v, p, Senders(detail))
	}
	pages.path = v.Path
	pages.call = v.Common().Area.Call
	pages.owner = p
	pages.may = v.Meets(d.Rule(Page, true))
	pages.list = Query(r.URL.Query(), "since")
	return pages, detail, e, Missing(err)
}

// send resends the event of the path.
func (d *Deliveries) send(r *http.Request, v Visit) (Action, error) {
	pages, detail, _, err := d.exchange(r, v, ID(r, "delivery"), 0)
	if err != nil {
		return Action{}, err
	}
	act := Action{
		Ask: pages.sendAgain(detail, v.Common().Area.Now()),
		Do: func(ctx context.Context) (string, error) {
			err := d.Webhooks.Redeliver(ctx, v.Actor(), pages.owner.ID, detail.EventID)
			return "The event is on its way. What " + pages.its() + " server answers stands below as soon as it " +
				"comes; without scripts, reload the page.", err
		},
	}
	if pages.Partner != nil { // several operators may send the same event
		tries := strconv.Itoa(len(detail.Tries))
		act.Seen = Seen{Version: string(detail.State) + "-" + tries, Facts: []Fact{
			{"State", string(detail.State)}, {"The number of attempts", tries},
		}}
	}
	return act, nil
}
