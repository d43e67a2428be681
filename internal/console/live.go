package console

import (
	"log/slog"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/redelivery"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// Live notifies open pages of changes.
type Live struct {
	attempts     *live.Feed[history.Fresh] // of all partners
	deliveries   *live.Versions            // by event
	redeliveries *live.Versions
	partners     *live.Versions
}

// NewLive returns the notifiers of the pages.
func NewLive(
	events history.Reader,
	jobs *redelivery.Store,
	profiles *profile.Store,
	partners *partner.Store,
	endpoints *webhook.Outbox,
	log *slog.Logger,
) *Live {
	return &Live{
		attempts:     area.Attempts(events, false, log),
		deliveries:   area.Versions(log, events.Versions),
		redeliveries: area.Versions(log, jobs.Versions),
		partners:     area.Versions(log, profiles.Versions, partners.CredentialVersions, endpoints.EndpointVersions),
	}
}

// RightsLive notifies open pages when a role changes or a session ends.
func RightsLive(accounts *account.Store, log *slog.Logger) *live.Versions {
	return area.Versions(log, accounts.AccessVersions)
}

// ExportsLive notifies open pages about exports.
func ExportsLive(exports *export.Exporter, log *slog.Logger) *live.Versions {
	return area.Versions(log, exports.Versions)
}

// BulkLive notifies open pages about bulk jobs.
func BulkLive(jobs *bulk.Store, log *slog.Logger) *live.Versions {
	return area.Versions(log, jobs.Versions)
}

// senderName returns a function that names the sender of a delivery.
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
