package api

import (
	"net/http"
	"time"

	"claviger/internal/partner"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// endpointAnswer is the health of a partner's webhook URL on the wire.
type endpointAnswer struct {
	State         string    `json:"state"`
	FailingSince  wire.Time `json:"failing_since,omitzero"`
	ParkedAt      wire.Time `json:"parked_at,omitzero"`
	NextProbeAt   wire.Time `json:"next_probe_at,omitzero"`
	LastSuccessAt wire.Time `json:"last_success_at,omitzero"`
	LastErrorAt   wire.Time `json:"last_error_at,omitzero"`
	LastError     string    `json:"last_error,omitempty"`
	Waiting       int64     `json:"waiting"`
	WaitingMore   bool      `json:"waiting_more"`
	ParkAfterS    int64     `json:"park_after_s"`
	ParkAttempts  int       `json:"park_attempts"`
	ProbeEveryS   int64     `json:"probe_every_s"`
}

func (a *API) readEndpoint(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	f, err := a.Profiles.Read(r.Context(), a.Profiles.DB, p.ID)
	if err != nil {
		return err
	}
	h, err := a.Webhooks.EndpointHealth(r.Context(), p.ID)
	if err != nil {
		return err
	}
	state := "healthy"
	switch {
	case p.Paused():
		state = "paused"
	case f.WebhookURL == "":
		state = "no_url"
	case !h.ParkedAt.IsZero():
		state = "parked"
	case !h.FailingSince.IsZero():
		state = "failing"
	}
	return wire.JSON(w, http.StatusOK, endpointAnswer{
		State: state, FailingSince: wire.Time(h.FailingSince), ParkedAt: wire.Time(h.ParkedAt),
		NextProbeAt:   wire.Time(h.ProbeAt),
		LastSuccessAt: wire.Time(h.LastSuccessAt), LastErrorAt: wire.Time(h.LastErrorAt), LastError: h.LastError,
		Waiting: h.Waiting, WaitingMore: h.More,
		ParkAfterS: int64(
			a.Policy.ParkAfter / time.Second,
		), ParkAttempts: webhook.ParkAttempts, ProbeEveryS: int64(a.Policy.ProbeEvery / time.Second),
	})
}

// tryEndpoint takes no members, like redeliver.
func (a *API) tryEndpoint(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	if err := decode(w, r, &struct{}{}, nil); err != nil {
		return err
	}
	if err := a.Webhooks.TryNow(r.Context(), actor(p), p.ID); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, struct {
		Trying bool `json:"trying"`
	}{true})
}
