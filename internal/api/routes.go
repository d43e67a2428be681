package api

import (
	"strconv"

	"claviger/internal/export"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// Routes is the table of the API, made before anything is served. Its paths are
// those of openapi.yaml, which a test compares.
func (a *API) Routes() []wire.Route {
	a.text = newLicenseText(a.PublicURL)
	auth := &wire.AuthRoutes[partner.Partner]{
		Authenticate: a.authenticate,
		Name:         func(p partner.Partner) string { return "partner:" + strconv.FormatInt(p.ID, 10) },
		Bucket:       a.bucket,
		Limit:        a.Limit,
		Guard:        a.Guard,
		Readers:      a.Readers,
		Bytes:        a.Bytes,
	}
	return append(a.productRoutes(auth), []wire.Route{
		auth.RouteWithQuery("GET", "/v2/licenses", a.listLicenses),
		auth.RouteWithQuery("GET", "/v2/licenses/events", a.listEvents),
		auth.RouteWithQuery("GET", "/v2/licenses/search", a.searchLicenses),
		auth.Route("GET", "/v2/licenses/{license_key}", a.readLicense),
		auth.RouteWithQuery("GET", "/v2/licenses/{license_key}/events", a.listLicenseEvents),
		auth.RouteWithQuery("GET", "/v2/licenses/{license_key}/webhook-responses", a.listResponses),
		auth.Route("GET", "/v2/licenses/{license_key}/explain", a.explainLicense),
		auth.Route("POST", "/v2/events/{event_id}/redeliver", a.redeliver),
		auth.RouteWithQuery("GET", "/v2/deliveries", a.listDeliveries),
		auth.Route("GET", "/v2/deliveries/{event_id}", a.readDelivery),
		auth.Route("GET", "/v2/deliveries/{event_id}/attempts/{attempt_id}", a.readAttempt),
		auth.RouteWithQuery("GET", "/v2/redeliveries", a.listRedeliveries),
		auth.RouteWithQuery("GET", "/v2/redeliveries/estimate", a.estimateRedelivery),
		auth.Route("POST", "/v2/redeliveries", a.beginRedelivery),
		auth.Route("GET", "/v2/redeliveries/{redelivery_id}", a.readRedelivery),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/pause", a.onRedelivery("pause")),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/resume", a.onRedelivery("resume")),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/cancel", a.onRedelivery("cancel")),
		auth.RouteWithQuery("GET", "/v2/requests", a.listRequests),
		auth.RouteWithQuery("GET", "/v2/exports/licenses", a.exportList(export.Licenses)),
		auth.RouteWithQuery("GET", "/v2/exports/deliveries", a.exportList(export.Deliveries)),
		auth.RouteWithQuery("GET", "/v2/exports/requests", a.exportList(export.Requests)),
		auth.RouteWithQuery("GET", "/v2/exports/audit", a.exportList(export.Audit)),
		auth.RouteWithQuery("GET", "/v2/stats", a.readStats),
		auth.Route("GET", "/v2/endpoint", a.readEndpoint),
		auth.Route("POST", "/v2/endpoint/try", a.tryEndpoint),
		auth.Route("GET", "/v2/profile", a.readProfile),
		auth.Route("PUT", "/v2/profile", a.updateProfile),
		auth.Route("PATCH", "/v2/profile", a.updateProfile),
		auth.Route("POST", "/v2/profile/contact", a.addContact),
		auth.Route("DELETE", "/v2/profile/contact/{contact_id}", a.deleteContact),
		auth.Route("POST", "/v2/profile/contact/{contact_id}/test", a.testContact),
		auth.Route("GET", "/v2/credentials", a.listCredentials),
		auth.Route("DELETE", "/v2/credentials/{credential_id}", a.revokeCredential),
		auth.RouteWithQuery("GET", "/v2/audit", a.listAudit),
		auth.Route("GET", "/v2/scenarios", a.listScenarios),
		auth.Route("POST", "/v2/scenarios/{scenario}/runs", a.runScenario),
		auth.Route("GET", "/v2/scenario-runs", a.listRuns),
		auth.Route("GET", "/v2/scenario-runs/{run_id}", a.readRun),
		auth.Route("GET", "/v2/event-kinds", a.listKinds),
		auth.Route("POST", "/v2/event-kinds/{event}/test", a.testEvent),
		auth.Route("POST", "/v2/verify-signature", a.verifySignature),
		wire.Public("GET", "/v2/openapi.json", a.describe),
	}...)
}
