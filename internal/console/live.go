package console

import (
	"log/slog"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/replay"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// Live is what tells open pages that something has happened.
type Live struct {
	attempts   *live.Feed[history.Fresh] // of all partners
	deliveries *live.Versions            // by event
	recoveries *live.Versions
	partners   *live.Versions
}

// NewLive makes what the pages are told by.
func NewLive(events history.Reader, jobs *replay.Jobs, profiles *profile.Book, partners *partner.Registry, endpoints *webhook.Outbox, log *slog.Logger) *Live {
	return &Live{
		attempts:   area.Attempts(events, false, log),
		deliveries: area.Versions(log, events.Versions),
		recoveries: area.Versions(log, jobs.Versions),
		partners:   area.Versions(log, profiles.Versions, partners.CredentialVersions, endpoints.EndpointVersions),
	}
}

// find finds what a page is about.
type find = func(r *http.Request, v *Visit) (area.Shown, error)

// shows serves a page about one thing.
func (s *Shell) shows(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error { return s.area.Shows(w, r, v, find) }
}

// tells serves the stream of such a page.
func (s *Shell) tells(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error { return s.area.Tells(w, r, v, find) }
}

// senderName says who had something sent.
func senderName(names map[int64]string) func(by audit.Actor) string {
	return func(by audit.Actor) string {
		switch by.Kind {
		case audit.ByUser:
			if name := names[by.ID]; name != "" {
				return name
			}
			return "Somebody who was erased"
		case audit.ByPartner:
			return "A program of the partner"
		}
		if by.Name != "" {
			return "A program with the operator token " + by.Name
		}
		return "A program of the marketplace"
	}
}
