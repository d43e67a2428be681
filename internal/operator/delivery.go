package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/wire"
)

// PartnerAnswers are what partners read and do under /v2, for the marketplace.
type PartnerAnswers struct {
	Licenses, Deliveries, Delivery, Attempt AboutPartner
	Redeliveries, Redelivery, Estimate      AboutPartner

	// AllDeliveries answers the deliveries of all partners.
	AllDeliveries func(w http.ResponseWriter, r *http.Request) error

	Redeliver       func(w http.ResponseWriter, r *http.Request, by audit.Actor, partnerID int64) error
	ActOnRedelivery func(w http.ResponseWriter, r *http.Request, act string, by audit.Actor, partnerID int64) error
}

// deliveryRoutes is the part of the table about deliveries and redeliveries.
func (o *Operator) deliveryRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route, list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/deliveries", func(w http.ResponseWriter, r *http.Request, _ account.Token) error {
			return o.Partner.AllDeliveries(w, r)
		}),
		list("/partners/{id}/licenses", o.aboutPartner(o.Partner.Licenses)),
		list("/partners/{id}/deliveries", o.aboutPartner(o.Partner.Deliveries)),
		on(account.Read, "GET", "/partners/{id}/deliveries/{event_id}", o.aboutPartner(o.Partner.Delivery)),
		on(account.Read, "GET", "/partners/{id}/deliveries/{event_id}/attempts/{attempt_id}", o.aboutPartner(o.Partner.Attempt)),
		list("/partners/{id}/redeliveries", o.aboutPartner(o.Partner.Redeliveries)),
		list("/partners/{id}/redeliveries/estimate", o.aboutPartner(o.Partner.Estimate)),
		on(account.Support, "POST", "/partners/{id}/redeliveries", o.beginRedelivery),
		on(account.Read, "GET", "/partners/{id}/redeliveries/{redelivery_id}", o.aboutPartner(o.Partner.Redelivery)),
		on(account.Support, "POST", "/partners/{id}/redeliveries/{redelivery_id}/pause", o.onRedelivery("pause")),
		on(account.Support, "POST", "/partners/{id}/redeliveries/{redelivery_id}/resume", o.onRedelivery("resume")),
		on(account.Support, "POST", "/partners/{id}/redeliveries/{redelivery_id}/cancel", o.onRedelivery("cancel")),
	}
}

func (o *Operator) beginRedelivery(w http.ResponseWriter, r *http.Request, t account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return o.Partner.Redeliver(w, r, actor(t), p.ID)
}

// onRedelivery is the handler that pauses, resumes or cancels a redelivery.
func (o *Operator) onRedelivery(act string) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, t account.Token) error {
		p, err := o.Partners.Get(r.Context(), pathID(r))
		if err != nil {
			return err
		}
		return o.Partner.ActOnRedelivery(w, r, act, actor(t), p.ID)
	}
}
