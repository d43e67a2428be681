package portal

import (
	"log/slog"

	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/webhook/history"
)

// Live notifies open pages of changes.
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

// NewLive returns the notifiers of a handler's pages.
func NewLive(h *Handler, log *slog.Logger) *Live {
	of := func(reads ...area.VersionsOf) *live.Versions { return area.Versions(log, reads...) }
	return &Live{
		attempts:   area.Attempts(h.History, true, log),
		deliveries: of(h.History.Versions),
		licenses:   of(h.Licenses.Versions, h.History.LicenseVersions),
		jobs:       of(h.Redeliveries.Versions),
		runs:       of(h.Simulator.Versions),
		setup:      of(h.Profiles.Versions, h.Partners.CredentialVersions, h.Webhooks.EndpointVersions),
		overview:   of(h.Profiles.Versions, h.Webhooks.EndpointVersions, h.Audit.Versions, h.History.NewestVersions),
		exports:    of(h.Exports.Versions),
		rights:     of(h.Site.Accounts.AccessVersions, h.Partners.AccessVersions),
	}
}
