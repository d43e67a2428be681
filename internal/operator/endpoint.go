package operator

import (
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/webhook"
)

// partnerDetailJSON is a partner with the health of its endpoint.
type partnerDetailJSON struct {
	partnerJSON
	Endpoint endpointJSON `json:"endpoint"`
}

// endpointJSON is the health of a partner's endpoint on the wire.
type endpointJSON struct {
	State         webhook.EndpointState `json:"state"`
	FailingSince  mayTime               `json:"failing_since"`
	ParkedAt      mayTime               `json:"parked_at"`
	Waiting       int64                 `json:"waiting"`
	WaitingMore   bool                  `json:"waiting_more"`
	LastSuccessAt mayTime               `json:"last_success_at"`
	LastErrorAt   mayTime               `json:"last_error_at"`
	LastError     string                `json:"last_error"`
}

func endpointOf(p partner.Partner, f profile.Profile, h webhook.EndpointHealth) endpointJSON {
	return endpointJSON{
		State: h.State(
			p,
			f,
		), FailingSince: mayTime(h.FailingSince), ParkedAt: mayTime(h.ParkedAt), Waiting: h.Waiting,
		WaitingMore:   h.More,
		LastSuccessAt: mayTime(h.LastSuccessAt), LastErrorAt: mayTime(h.LastErrorAt), LastError: h.LastError,
	}
}
