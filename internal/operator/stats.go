package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// statsJSON is how much there is of everything, on the wire.
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

// deliveriesJSON counts deliveries by what became of them.
type deliveriesJSON struct {
	Pending    int64 `json:"pending"`
	Delivered  int64 `json:"delivered"`
	Exhausted  int64 `json:"exhausted"`
	Superseded int64 `json:"superseded"`
}

// stats counts package by package. The numbers are of one moment each and may differ
// by what happened in between.
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
