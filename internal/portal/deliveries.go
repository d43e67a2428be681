package portal

import (
	"fmt"
	"net/http"
	"net/url"

	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

const (
	deliveriesPath = area.DeliveriesPath
	deliveryPath   = deliveriesPath + "/{event}"
	attemptPath    = deliveryPath + "/attempts/{attempt}"
	sendPath       = deliveryPath + "/send"
	livePath       = deliveriesPath + "/live"
)

const (
	deliveriesPerPage = 50
	maxFailed         = 100 // limit of the count of failures
)

// asked selects deliveries, as the URL of a page says.
type asked struct{ area.DeliveryQuery }

// askedFor reads the filters of the query.
func (h *Handler) askedFor(r *http.Request, v *Visit) (asked, error) {
	a := asked{area.ReadDeliveryQuery(r, h.Now())}
	return a, h.readLicense(r, v, &a)
}

// readLicense looks up the license. One of another partner matches nothing.
func (h *Handler) readLicense(r *http.Request, v *Visit, a *asked) error {
	if a.LicenseKey == "" {
		return nil
	}
	l, err := h.Licenses.OfPartner(r.Context(), v.Partner.ID, a.LicenseKey)
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		a.Filter.LicenseID = -1
		return nil
	case err != nil:
		return err
	}
	a.Filter.LicenseID = l.ID
	a.LicenseKey = l.Key
	return nil
}

// deliveries lists the deliveries of a partner.
func (h *Handler) deliveries(w http.ResponseWriter, r *http.Request, v *Visit) error {
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	view := area.DeliveriesView{
		Lead: "Every event on its way to your webhook URL, with its last attempt.", Form: a.Form,
		Filters: ui.Filters{
			Label: "Filter deliveries", URL: v.Path(deliveriesPath), Fields: a.Form.Fields, Active: area.Query(r.URL.Query(), "live", "after") != "", Fold: true,
		},
		Curl: h.call("List these deliveries by API", http.MethodGet, "/v2/deliveries", a.Params()...),
	}
	if a.Form.Failed() {
		return h.render(w, r, v, area.PageDeliveries, ui.View{Title: "Deliveries", Status: http.StatusBadRequest, Data: view})
	}
	after, _ := history.ParseKey(r.URL.Query().Get("after")) // an invalid key means the newest
	stream := ""
	if after.IsZero() && a.Filter.To.IsZero() {
		// before the list is read, so that later attempts are announced
		newest, err := h.History.NewestAttempt(r.Context())
		if err != nil {
			return err
		}
		stream = view.Live(r, newest)
	}
	list, err := h.History.List(r.Context(), v.Partner.ID, a.Filter, after, deliveriesPerPage)
	if err != nil {
		return err
	}
	table := area.DeliveryTable{Deliveries: v.Path(deliveriesPath), Licenses: v.Path(licensesPath), Query: area.Query(r.URL.Query(), "live")}
	view.Results = ui.Results{Filters: view.Filters, Table: table.Of(list.Of(v.Partner.ID))}
	next := ""
	first := ""
	if !list.Next.IsZero() {
		next = area.WithParam(r, "after", list.Next.String())
	}
	if !after.IsZero() {
		first = area.WithParam(r, "after", "")
	}
	view.LeadOn(next, first, list.SearchedTo)
	view.Acts = []ui.Item{{Label: "Export…", URL: exportURL(r, v, export.Deliveries)}}
	if v.Covers(partner.Developer) && !view.Results.Empty() {
		view.Acts = []ui.Item{view.Acts[0], {Label: "Recover these…", URL: v.Path(redeliverPath) + area.Query(r.URL.Query(), "after")}}
	}
	if view.Results.Empty() && !view.Filters.Active {
		if view.Results.Nothing, err = h.noDelivery(r, v); err != nil {
			return err
		}
	}
	if a.Filter.EventID == 0 && a.Filter.LicenseID == 0 { // a search for one thing does not mention others
		if err := h.countFailed(r, v, a, &view); err != nil {
			return err
		}
	}
	return h.render(w, r, v, area.PageDeliveries, ui.View{Title: "Deliveries", Stream: stream, Data: view})
}

// deliveriesLive streams new attempts to an open list.
func (h *Handler) deliveriesLive(w http.ResponseWriter, r *http.Request, v *Visit) error {
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	return h.area.FollowDeliveries(w, r, v, h.Live.attempts.Watch(v.Partner.ID), a.Filter, v.Partner.ID)
}

// noDelivery returns the reason a list without filters is empty.
func (h *Handler) noDelivery(r *http.Request, v *Visit) (ui.Empty, error) {
	some, err := h.History.List(r.Context(), v.Partner.ID, history.Filter{}, history.Key{}, 1)
	if err != nil {
		return ui.Empty{}, err
	}
	if len(some.Deliveries) > 0 {
		return ui.Empty{
			Title: "Nothing in the last 24 hours", Text: "There were events before that.",
			URL: v.Path(deliveriesPath) + "?range=all", Action: "Show all time",
		}, nil
	}
	return ui.Empty{
		Title: "Nothing yet", Text: "Events are sent here as soon as a license is sold. Save your webhook URL first, and send yourself a test event.",
		URL: v.Path(setupPath), Action: "Go to Set-up",
	}, nil
}

// countFailed adds the number of failed deliveries in the same span of time.
func (h *Handler) countFailed(r *http.Request, v *Visit, a asked, view *area.DeliveriesView) error {
	n, more, err := h.History.Count(r.Context(), v.Partner.ID, history.Filter{State: history.Failed, From: a.Filter.From, To: a.Filter.To}, maxFailed)
	if err != nil || n == 0 {
		return err
	}
	view.Failed = fmt.Sprintf("%d failed", n)
	if more {
		view.Failed = fmt.Sprintf("More than %d failed", n)
	}
	q := url.Values{"state": {string(history.Failed)}}
	for _, name := range []string{"range", "from", "to"} {
		if s := r.URL.Query().Get(name); s != "" {
			q.Set(name, s)
		}
	}
	view.FailURL = v.Path(deliveriesPath) + "?" + q.Encode()
	return nil
}
