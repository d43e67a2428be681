package api

import (
	"net/http"
	"strconv"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// queuedEvent names the queued event.
type queuedEvent struct {
	EventID int64 `json:"event_id"`
}

// redeliver takes no members; an empty body and {} are the same.
func (a *API) redeliver(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	if err := decode(w, r, &struct{}{}, nil); err != nil {
		return err
	}
	id, ok := wire.PathID(r, "event_id")
	if !ok {
		return fault.New(
			fault.Missing,
			event.CodeUnknownEvent,
			"There is no such event; event ids are in the list of events.",
		)
	}
	if err := a.throttle(p); err != nil {
		return err
	}
	if err := a.Webhooks.Redeliver(r.Context(), actor(p), p.ID, id); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, queuedEvent{EventID: id})
}

// throttle limits the redelivery requests of a partner.
func (a *API) throttle(p partner.Partner) error {
	q := a.RedeliveryLimit.Take(strconv.FormatInt(p.ID, 10))
	if q.OK {
		return nil
	}
	f := fault.New(
		fault.Throttled,
		wire.CodeRateLimited,
		"Too many redeliveries: %d a minute may be asked for. Wait as long as Retry-After says; for many events, "+
			"POST /v2/redeliveries.",
		q.Limit,
	)
	f.After = q.After
	return f
}

func (a *API) beginRedelivery(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	if err := a.throttle(p); err != nil {
		return err
	}
	return a.PartnerRedeliver(w, r, actor(p), p.ID)
}

// onRedelivery returns the handler of an act.
func (a *API) onRedelivery(act string) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
		return a.ActOnRedelivery(w, r, act, actor(p), p.ID)
	}
}
