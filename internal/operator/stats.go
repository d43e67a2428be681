package operator

import (
	"math"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/stats"
	"claviger/internal/wire"
)

// statsJSON is the total counts on the wire.
type statsJSON struct {
	Partners   int64          `json:"partners"`
	Licenses   statusesJSON   `json:"licenses"`
	Events     int64          `json:"events"`
	Deliveries deliveriesJSON `json:"deliveries"`
}

// statusesJSON counts licenses by status.
type statusesJSON struct {
	Inactive    int64 `json:"inactive"`
	Active      int64 `json:"active"`
	Deactivated int64 `json:"deactivated"`
}

// deliveriesJSON counts deliveries by result.
type deliveriesJSON struct {
	Pending    int64 `json:"pending"`
	Delivered  int64 `json:"delivered"`
	Exhausted  int64 `json:"exhausted"`
	Superseded int64 `json:"superseded"`
}

// stats counts package by package, each at its own moment, so the numbers may differ slightly.
func (o *Operator) stats(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	_, partners, err := o.Partners.List(r.Context(), paging.Page{Number: 1, Limit: 1})
	if err != nil {
		return err
	}
	licenses, err := o.Licenses.Stats(r.Context())
	if err != nil {
		return err
	}
	events, err := o.Events.Count(r.Context())
	if err != nil {
		return err
	}
	deliveries, err := o.Webhooks.Stats(r.Context())
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, statsJSON{
		Partners:   partners,
		Licenses:   statusesJSON{licenses[event.Inactive], licenses[event.Active], licenses[event.Deactivated]},
		Events:     events,
		Deliveries: deliveriesJSON(deliveries),
	})
}

// salesStatsJSON is the sales per day and partner on the wire.
type salesStatsJSON struct {
	Days      []daySalesJSON     `json:"days"`
	Partners  []partnerSalesJSON `json:"partners"`
	More      bool               `json:"more_partners"`
	Total     salesJSON          `json:"total"`
	CountedTo wire.Time          `json:"counted_to,omitzero"`
}

// salesJSON counts the outcomes of sold licenses; rates are omitted if none was sold.
type salesJSON struct {
	Sold           int64    `json:"sold"`
	ActivatedSoon  int64    `json:"activated_within_7_days"`
	ActivationRate *float64 `json:"activation_rate,omitempty"`
	Refunded       int64    `json:"refunded"`
	RefundRate     *float64 `json:"refund_rate,omitempty"`
}

type daySalesJSON struct {
	Day string `json:"day"`
	salesJSON
}

type partnerSalesJSON struct {
	PartnerID int64  `json:"partner_id"`
	Name      string `json:"name"`
	salesJSON
}

func salesOf(s stats.Sales) salesJSON {
	rate := func(part float64, ok bool) *float64 {
		if !ok {
			return nil
		}
		return new(math.Round(part*10000) / 10000)
	}
	return salesJSON{s.Sold, s.ActivatedSoon, rate(s.ActivationRate()), s.Refunded, rate(s.RefundRate())}
}

// Limits of the figures.
const (
	defaultSalesDays = 30
	maxSellers       = 500
)

// salesStats answers with the sales per day and per partner.
func (o *Operator) salesStats(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "days", "partner_id")
	if err != nil {
		return err
	}
	days := int64(defaultSalesDays)
	partnerID := int64(0)
	if q.Has("days") {
		if days, err = naturalParam(q, "days", 1); err != nil || days < 1 || days > stats.MaxSalesDays {
			return fault.Parameter("days", "must be a whole number from 1 to %d.", stats.MaxSalesDays)
		}
	}
	if partnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return err
	}
	if partnerID != 0 {
		if _, err := o.Partners.Get(r.Context(), partnerID); err != nil {
			if fault.Is(err, partner.CodeUnknownPartner) {
				return fault.Parameter("partner_id", "is not the id of a partner; list the partners to see their ids.")
			}
			return err
		}
	}
	n, err := o.Service.Stats.Sales(r.Context(), partnerID, int(days))
	if err != nil {
		return err
	}
	answer := salesStatsJSON{
		Days:      make([]daySalesJSON, len(n.Days)),
		Total:     salesOf(n.Total),
		CountedTo: wire.Time(n.CountedTo),
		More:      len(n.Partners) > maxSellers,
	}
	for i, d := range n.Days {
		answer.Days[i] = daySalesJSON{d.At.Format(time.DateOnly), salesOf(d.Sales)}
	}
	answer.Partners, err = o.sellers(r, n.Partners[:min(len(n.Partners), maxSellers)])
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, answer)
}

// sellers adds the names of the partners.
func (o *Operator) sellers(r *http.Request, list []stats.PartnerSales) ([]partnerSalesJSON, error) {
	ids := make([]int64, len(list))
	for i, p := range list {
		ids[i] = p.PartnerID
	}
	names, err := o.Partners.Names(r.Context(), ids)
	answer := make([]partnerSalesJSON, len(list))
	for i, p := range list {
		answer[i] = partnerSalesJSON{p.PartnerID, names[p.PartnerID], salesOf(p.Sales)}
	}
	return answer, err
}
