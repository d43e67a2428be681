package console

import (
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

const licenseVerb = licensesPath + "/%s" // the page of a license

// deliveryQuery selects deliveries.
type deliveryQuery struct {
	area.DeliveryQuery
	partnerID int64 // 0: all
}

// deliveryQuery reads the filters of the query: those of the portal, and the partner.
func (d *Delivery) deliveryQuery(r *http.Request) (deliveryQuery, error) {
	q := deliveryQuery{DeliveryQuery: area.ReadDeliveryQuery(r, d.Now())}
	id := area.CleanQuery(r.URL.Query().Get("partner"))
	q.Form.Fields = append([]ui.Field{{Name: "partner", Label: "Partner's id", Value: id}}, q.Form.Fields...)
	if id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		q.partnerID = n
		if err != nil || n < 1 {
			q.Form.Refuse(fault.Field("partner", "must be the id of a partner, such as 1."))
		}
	}
	if q.LicenseKey == "" {
		return q, nil
	}
	l, err := d.Licenses.ByKey(r.Context(), q.LicenseKey)
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		q.Filter.LicenseID = -1 // matches nothing
	case err != nil:
		return q, err
	default:
		q.Filter.LicenseID = l.ID
		if q.partnerID == 0 {
			q.partnerID = l.PartnerID
		}
	}
	return q, nil
}

// deliveries lists the deliveries of all partners, or of one.
func (d *Delivery) deliveries(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q, err := d.deliveryQuery(r)
	if err != nil {
		return err
	}
	view := area.DeliveriesView{
		Lead: "Every event on its way to a partner, with its last attempt, newest event first.", Form: q.Form,
		Filters: ui.Filters{Label: "Filter deliveries", URL: v.Path(deliveriesPath), Fields: q.Form.Fields, Active: area.Query(r.URL.Query(), "live", "after") != "", Fold: true},
		Curl:    d.call("List these deliveries by API", http.MethodGet, "/operator/v1/deliveries", q.Params()...),
	}
	if q.partnerID > 0 {
		view.Curl.Query = append(view.Curl.Query, ui.Param{Name: "partner_id", Value: q.partnerID})
	}
	if q.Form.Failed() {
		return d.render(w, r, v, area.PageDeliveries, ui.View{Title: "Deliveries", Status: http.StatusBadRequest, Data: view})
	}
	after, _ := history.ParseKey(r.URL.Query().Get("after")) // an invalid key means the newest
	stream := ""
	if after.IsZero() && q.Filter.To.IsZero() {
		// before the list is read, so that later attempts are announced
		newest, err := d.History.NewestAttempt(r.Context())
		if err != nil {
			return err
		}
		stream = view.Live(r, newest)
	}
	list, err := d.History.ListAll(r.Context(), q.partnerID, q.Filter, after, rowsPerPage)
	if err != nil {
		return err
	}
	next, first := "", ""
	if !list.Next.IsZero() {
		next = area.WithParam(r, "after", list.Next.String())
	}
	if !after.IsZero() {
		first = area.WithParam(r, "after", "")
	}
	names, err := partner.ByID(r.Context(), d.DB, ids(list.Deliveries, func(o *history.OfPartner) int64 { return o.PartnerID }))
	if err != nil {
		return err
	}
	table := area.DeliveryTable{Deliveries: v.Path(deliveriesPath), Licenses: v.Path(licensesPath), Query: area.Query(r.URL.Query(), "live"), Partners: map[int64]ui.Cell{}}
	for id, p := range names {
		table.Partners[id] = ui.Cell{Text: p.Name, URL: d.pageOfPartner(v, id)}
	}
	view.Results = ui.Results{
		Filters: view.Filters, Table: table.Of(list.Deliveries),
		Nothing: ui.Empty{Title: "Nothing in the last 24 hours", Text: "Choose another time to see older events.", URL: v.Path(deliveriesPath) + "?range=all", Action: "Show all time"},
	}
	view.LeadOn(next, first, list.SearchedTo)
	if q.partnerID != 0 && v.May(account.Support) && len(list.Deliveries) > 0 {
		view.Acts = []ui.Item{{Label: "Recover what failed…", URL: v.Path(redeliverPath+"/%d", q.partnerID) + "?state=failed"}}
	}
	if len(list.Deliveries) > 0 {
		for _, act := range d.bulkActs(r, v, bulk.Events) {
			view.Acts = append(view.Acts, ui.Item{Label: act.Label, URL: act.URL})
		}
	}
	return d.render(w, r, v, area.PageDeliveries, ui.View{Title: "Deliveries", Stream: stream, Data: view})
}

// deliveriesLive streams new attempts to an open list.
func (d *Delivery) deliveriesLive(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q, err := d.deliveryQuery(r)
	if err != nil {
		return err
	}
	return d.area.FollowDeliveries(w, r, v, d.Live.attempts.Watch(area.AllPartners), q.Filter, q.partnerID)
}

const (
	deliveryPath = deliveriesPath + "/{delivery}"
	attemptPath  = deliveryPath + "/attempts/{attempt}"
	sendPath     = deliveryPath + "/send"
)

// delivery shows a delivery with its last attempt, updated live, or with the attempt of the path,
// which is fixed.
func (d *Delivery) delivery(r *http.Request, v *Visit) (area.Shown, error) {
	event, attempt := area.ID(r, "delivery"), int64(0)
	if r.PathValue("attempt") != "" {
		if attempt = area.ID(r, "attempt"); attempt <= 0 {
			return area.Shown{}, area.NotFound()
		}
	}
	if _, _, _, err := d.exchange(r, event, attempt); err != nil {
		return area.Shown{}, err
	}
	return area.Shown{
		Versions: d.Live.deliveries, Topic: event, Page: "delivery",
		View: func(r *http.Request) (ui.View, string, error) {
			p, detail, e, err := d.exchange(r, event, attempt)
			if err != nil {
				return ui.View{}, "", err
			}
			pages, err := d.deliveryPages(r, v, p, detail)
			if err != nil {
				return ui.View{}, "", err
			}
			view, says := pages.View(detail, e)
			return view, says, nil
		},
	}, nil
}

// exchange reads a delivery, its partner and one of its attempts (0: the last).
func (d *Delivery) exchange(r *http.Request, event, attempt int64) (p partner.Partner, detail history.Detail, e history.Exchange, err error) {
	id, err := d.History.PartnerOf(r.Context(), event)
	if err == nil {
		p, err = d.Partners.Get(r.Context(), id)
	}
	if err == nil {
		detail, e, err = d.History.Exchange(r.Context(), id, event, attempt)
	}
	return p, detail, e, area.Missing(err)
}

// deliveryPages returns the builder of the pages about a delivery.
func (d *Delivery) deliveryPages(r *http.Request, v *Visit, p partner.Partner, detail history.Detail) (area.DeliveryPages, error) {
	names, err := d.Site.Accounts.Names(r.Context(), area.Senders(detail))
	return area.DeliveryPages{
		Path: v.Path, License: licenseVerb, Call: d.call, API: fmt.Sprintf("/operator/v1/partners/%d", p.ID), Events: "/operator/v1",
		Whose: "The partner's", Brand: p.Brand, Partner: &ui.Item{Label: p.Name, URL: d.pageOfPartner(v, p.ID)},
		Who: senderName(names), May: v.May(account.Support), List: area.Query(r.URL.Query(), "since"),
	}, err
}

// sendView builds the page that asks whether to resend an event.
func (d *Delivery) sendView(r *http.Request, v *Visit) (ui.Confirm, area.Seen, history.Detail, error) {
	p, detail, _, err := d.exchange(r, area.ID(r, "delivery"), 0)
	if err != nil {
		return ui.Confirm{}, area.Seen{}, detail, err
	}
	pages, err := d.deliveryPages(r, v, p, detail)
	if err != nil {
		return ui.Confirm{}, area.Seen{}, detail, err
	}
	tries := strconv.Itoa(len(detail.Tries))
	seen := area.Seen{Version: string(detail.State) + "-" + tries, Facts: []area.Fact{{Name: "State", Value: string(detail.State)}, {Name: "The number of attempts", Value: tries}}}
	view := pages.SendAgain(detail, d.Now())
	view.Hidden = append(view.Hidden, seen.Param())
	return view, seen, detail, nil
}

func (d *Delivery) askSend(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := d.sendView(r, v)
	if err != nil {
		return err
	}
	return d.confirm(w, r, v, http.StatusOK, view)
}

// send resends an event.
func (d *Delivery) send(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, seen, detail, err := d.sendView(r, v)
	if err != nil {
		return err
	}
	if err := seen.Unchanged(r); err != nil {
		return d.refuse(w, r, v, view, err)
	}
	const anyPartner = 0
	if err := d.Webhooks.Redeliver(r.Context(), v.Actor(), anyPartner, detail.EventID); err != nil {
		return d.refuse(w, r, v, view, err)
	}
	return d.area.Done(w, r, v, fmt.Sprintf("%s/%d%s", deliveriesPath, detail.EventID, area.Query(r.URL.Query())),
		"The event is on its way. What the partner's server answers stands below as soon as it comes; without scripts, reload the page.")
}
