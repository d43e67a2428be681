package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/wire"
)

// deliveryRoutes returns the routes of deliveries and redeliveries.
func (o *Operator) deliveryRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/deliveries", func(w http.ResponseWriter, r *http.Request, _ account.Token) error {
			return o.AllDeliveries(w, r)
		}),
		list("/partners/{id}/licenses", o.aboutPartner(o.PartnerLicenses)),
		list("/partners/{id}/deliveries", o.aboutPartner(o.PartnerDeliveries)),
		on(account.Read, "GET", "/partners/{id}/deliveries/{event_id}", o.aboutPartner(o.PartnerDelivery)),
		on(
			account.Read,
			"GET",
			"/partners/{id}/deliveries/{event_id}/attempts/{attempt_id}",
			o.aboutPartner(o.PartnerAttempt),
		),
		list("/partners/{id}/redeliveries", o.aboutPartner(o.PartnerRedeliveries)),
		list("/partners/{id}/redeliveries/estimate", o.aboutPartner(o.PartnerEstimate)),
		on(account.Support, "POST", "/partners/{id}/redeliveries", o.beginRedelivery),
		on(account.Read, "GET", "/partners/{id}/redeliveries/{redelivery_id}", o.aboutPartner(o.PartnerRedelivery)),
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
	return o.PartnerRedeliver(w, r, actor(t), p.ID)
}

// onRedelivery returns the handler that pauses, resumes or cancels a redelivery.
func (o *Operator) onRedelivery(act string) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, t account.Token) error {
		p, err := o.Partners.Get(r.Context(), pathID(r))
		if err != nil {
			return err
		}
		return o.ActOnRedelivery(w, r, act, actor(t), p.ID)
	}
}
