package portal

import (
	"fmt"
	"net/http"
	"net/url"

	"claviger/internal/area"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

const deliveriesPath = area.DeliveriesPath

const maxFailed = 100 // limit of the count of failures

// deliveryPages returns the pages of deliveries.
func (h *Handler) deliveryPages() *area.Deliveries {
	return &area.Deliveries{
		Side: h, Rule: changes(partner.Developer), History: h.History, Webhooks: h.Webhooks,
	}
}

// askedFor reads the filters of the query. A license of another partner matches nothing.
func (h *Handler) askedFor(r *http.Request, v *Visit) (area.DeliveryQuery, error) {
	q := area.ReadDeliveryQuery(r, h.Now())
	if q.LicenseKey == "" {
		return q, nil
	}
	l, err := h.Licenses.OfPartner(r.Context(), v.Partner.ID, q.LicenseKey)
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		q.Filter.LicenseID = -1
		return q, nil
	case err != nil:
		return q, err
	}
	q.Filter.LicenseID = l.ID
	q.LicenseKey = l.Key
	return q, nil
}

// DeliveryList reads the filters of the list of deliveries.
func (h *Handler) DeliveryList(r *http.Request, visit area.Visit) (area.DeliveryList, error) {
	v := visit.(*Visit)
	q, err := h.askedFor(r, v)
	return area.DeliveryList{
		DeliveryQuery: q, Partner: v.Partner.ID,
		Lead: "Every event on its way to your webhook URL, with its last attempt.",
		Call: h.call("List these deliveries by API", http.MethodGet, "/v2/deliveries", q.Params()...),
	}, err
}

// CompleteList adds the acts and the number of failures.
func (h *Handler) CompleteList(
	r *http.Request, visit area.Visit, l area.DeliveryList, found []history.OfPartner, view *area.DeliveriesView,
) (partners map[int64]ui.Cell, err error) {
	v := visit.(*Visit)
	view.Acts = []ui.Item{{Label: "Export…", URL: exportURL(r, v, export.Deliveries)}}
	if v.Covers(partner.Developer) && len(found) > 0 {
		view.Acts = append(
			view.Acts,
			ui.Item{Label: "Recover these…", URL: v.Path(redeliverPath) + area.Query(r.URL.Query(), "after")},
		)
	}
	if len(found) == 0 && !view.Filters.Active {
		if view.Results.Nothing, err = h.noDelivery(r, v); err != nil {
			return nil, err
		}
	}
	if l.Filter.EventID == 0 && l.Filter.LicenseID == 0 { // a search for one thing does not mention others
		return nil, h.countFailed(r, v, l.Filter, view)
	}
	return nil, nil
}

// OwnerOf returns the partner, of which alone events are shown.
func (h *Handler) OwnerOf(_ *http.Request, visit area.Visit, _ int64) (partner.Partner, error) {
	return visit.(*Visit).Partner, nil
}

// DeliveryPages returns the builder of the pages about a delivery.
func (h *Handler) DeliveryPages(
	r *http.Request, visit area.Visit, _ partner.Partner, senders []int64,
) (area.DeliveryPages, error) {
	known, err := h.peopleOf(r.Context(), visit.(*Visit), senders)
	return area.DeliveryPages{API: "/v2", Events: "/v2", Whose: "Your", Who: known.who}, err
}

// WatchAttempts watches the attempts for the partner.
func (h *Handler) WatchAttempts(visit area.Visit, ready live.Signal) *live.Watch[history.Fresh] {
	return h.Live.attempts.WatchWith(visit.(*Visit).Partner.ID, ready)
}

// DeliveryVersions has the versions of deliveries, by event.
func (h *Handler) DeliveryVersions() *live.Versions { return h.Live.deliveries }

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
		Title: "Nothing yet",
		Text: "Events are sent here as soon as a license is sold. Save your webhook URL first, and send yourself a " +
			"test event.",
		URL: v.Path(setupPath), Action: "Go to Set-up",
	}, nil
}

// countFailed adds the number of failed deliveries in the same span of time.
func (h *Handler) countFailed(r *http.Request, v *Visit, f history.Filter, view *area.DeliveriesView) error {
	failed := history.Filter{State: history.Failed, From: f.From, To: f.To}
	n, more, err := h.History.Count(r.Context(), v.Partner.ID, failed, maxFailed)
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
