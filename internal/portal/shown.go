package portal

import (
	"log/slog"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/webhook/history"
)

// Live is what tells open pages that something has happened.
type Live struct {
	attempts   *live.Feed[history.Fresh] // by partner
	deliveries *live.Versions            // by event
	licenses   *live.Versions
	jobs       *live.Versions
	runs       *live.Versions
	setup      *live.Versions // by partner
	overview   *live.Versions // by partner
	exports    *live.Versions // by person
	rights     *live.Versions // by person
}

// NewLive makes what the pages of a handler are told by.
func NewLive(h *Handler, log *slog.Logger) *Live {
	of := func(reads ...area.VersionsOf) *live.Versions { return area.Versions(log, reads...) }
	return &Live{
		attempts:   area.Attempts(h.History, true, log),
		deliveries: of(h.History.Versions),
		licenses:   of(h.Licenses.Versions, h.History.LicenseVersions),
		jobs:       of(h.Replays.Versions),
		runs:       of(h.Simulator.Versions),
		setup:      of(h.Profiles.Versions, h.Partners.CredentialVersions, h.Webhooks.EndpointVersions),
		overview:   of(h.Profiles.Versions, h.Webhooks.EndpointVersions, h.Audit.Versions, h.History.NewestVersions),
		exports:    of(h.Exports.Versions),
		rights:     of(h.Site.Accounts.AccessVersions, h.Partners.AccessVersions),
	}
}

// find finds what a page is about.
type find = func(r *http.Request, v *Visit) (area.Shown, error)

// shows serves the page.
func (h *Handler) shows(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error { return h.area.Shows(w, r, v, find) }
}

// tells serves the page's stream.
func (h *Handler) tells(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error { return h.area.Tells(w, r, v, find) }
}
