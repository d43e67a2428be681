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
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

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

// DeliveryList reads the filters of the list of deliveries.
func (d *Delivery) DeliveryList(r *http.Request, _ area.Visit) (area.DeliveryList, error) {
	q, err := d.deliveryQuery(r)
	list := area.DeliveryList{
		DeliveryQuery: q.DeliveryQuery, Partner: q.partnerID,
		Lead: "Every event on its way to a partner, with its last attempt, newest event first.",
		Call: d.call("List these deliveries by API", http.MethodGet, "/operator/v1/deliveries", q.Params()...),
	}
	if q.partnerID > 0 {
		list.Call.Query = append(list.Call.Query, ui.Param{Name: "partner_id", Value: q.partnerID})
	}
	return list, err
}

// CompleteList adds the acts, and returns links to partners.
func (d *Delivery) CompleteList(
	r *http.Request, visit area.Visit, l area.DeliveryList, found []history.OfPartner, view *area.DeliveriesView,
) (map[int64]ui.Cell, error) {
	v := visit.(*Visit)
	view.Results.Nothing = ui.Empty{
		Title: "Nothing in the last 24 hours", Text: "Choose another time to see older events.",
		URL: v.Path(deliveriesPath) + "?range=all", Action: "Show all time",
	}
	if l.Partner != 0 && v.May(account.Support) && len(found) > 0 {
		view.Acts = []ui.Item{
			{Label: "Recover what failed…", URL: v.Path(redeliverPath+"/%d", l.Partner) + "?state=failed"},
		}
	}
	if len(found) > 0 {
		for _, act := range d.bulkActs(r, v, bulk.Events) {
			view.Acts = append(view.Acts, ui.Item{Label: act.Label, URL: act.URL})
		}
	}
	names, err := partner.ByID(r.Context(), d.DB, ids(found, func(o *history.OfPartner) int64 { return o.PartnerID }))
	partners := map[int64]ui.Cell{}
	for id, p := range names {
		partners[id] = ui.Cell{Text: p.Name, URL: d.pageOfPartner(v, id)}
	}
	return partners, err
}

// OwnerOf returns the partner of an event.
func (d *Delivery) OwnerOf(r *http.Request, _ area.Visit, event int64) (partner.Partner, error) {
	id, err := d.History.PartnerOf(r.Context(), event)
	if err != nil {
		return partner.Partner{}, err
	}
	return d.Partners.Get(r.Context(), id)
}

// DeliveryPages returns the builder of the pages about a delivery.
func (d *Delivery) DeliveryPages(
	r *http.Request, visit area.Visit, p partner.Partner, senders []int64,
) (area.DeliveryPages, error) {
	names, err := d.Site.Accounts.Names(r.Context(), senders)
	return area.DeliveryPages{
		API: fmt.Sprintf("/operator/v1/partners/%d", p.ID), Events: "/operator/v1", Whose: "The partner's",
		Partner: &ui.Item{Label: p.Name, URL: d.pageOfPartner(visit.(*Visit), p.ID)}, Who: senderName(names),
	}, err
}

// WatchAttempts watches the attempts for all partners.
func (d *Delivery) WatchAttempts(_ area.Visit, ready live.Signal) *live.Watch[history.Fresh] {
	return d.Live.attempts.WatchWith(area.AllPartners, ready)
}

// DeliveryVersions has the versions of deliveries, by event.
func (d *Delivery) DeliveryVersions() *live.Versions { return d.Live.deliveries }
