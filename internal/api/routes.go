package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/answers"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// Routes returns the table of the API. It must be called before anything is served. A test compares
// its paths with openapi.yaml.
func (a *API) Routes() []wire.Route {
	a.text = answers.NewLicenseText(a.PublicURL)
	auth := &wire.AuthRoutes[partner.Partner]{
		Authenticate: a.authenticate,
		Name:         func(p partner.Partner) string { return "partner:" + strconv.FormatInt(p.ID, 10) },
		Bucket:       a.bucket,
		Limit:        a.Limit,
		Guard:        a.Guard,
		Readers:      a.Readers,
		Bytes:        a.Bytes,
	}
	return slices.Concat(a.productRoutes(auth), a.fileRoutes(auth), []wire.Route{
		auth.RouteWithQuery("GET", "/v2/licenses", a.listLicenses),
		auth.RouteWithQuery("GET", "/v2/licenses/events", own(a.PartnerEvents)),
		auth.RouteWithQuery("GET", "/v2/licenses/search", own(a.PartnerLicenses)),
		auth.Route("GET", "/v2/licenses/{license_key}", a.readLicense),
		auth.RouteWithQuery("GET", "/v2/licenses/{license_key}/events", a.named(a.LicenseEvents)),
		auth.RouteWithQuery("GET", "/v2/licenses/{license_key}/webhook-responses", a.named(a.LicenseResponses)),
		auth.Route("GET", "/v2/licenses/{license_key}/explain", a.named(a.ExplainLicense)),
		auth.Route("POST", "/v2/events/{event_id}/redeliver", a.redeliver),
		auth.RouteWithQuery("GET", "/v2/deliveries", own(a.PartnerDeliveries)),
		auth.Route("GET", "/v2/deliveries/{event_id}", own(a.OwnDelivery)),
		auth.Route("GET", "/v2/deliveries/{event_id}/attempts/{attempt_id}", own(a.OwnAttempt)),
		auth.RouteWithQuery("GET", "/v2/redeliveries", own(a.PartnerRedeliveries)),
		auth.RouteWithQuery("GET", "/v2/redeliveries/estimate", own(a.PartnerEstimate)),
		auth.Route("POST", "/v2/redeliveries", a.beginRedelivery),
		auth.Route("GET", "/v2/redeliveries/{redelivery_id}", own(a.PartnerRedelivery)),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/pause", a.onRedelivery("pause")),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/resume", a.onRedelivery("resume")),
		auth.Route("POST", "/v2/redeliveries/{redelivery_id}/cancel", a.onRedelivery("cancel")),
		auth.RouteWithQuery("GET", "/v2/requests", own(a.PartnerRequests)),
		auth.RouteWithQuery("GET", "/v2/stats", own(a.PartnerStats)),
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
	})
}

// fileRoutes returns the routes of exports, earnings and statements.
func (a *API) fileRoutes(auth *wire.AuthRoutes[partner.Partner]) []wire.Route {
	return []wire.Route{
		auth.RouteWithQuery("GET", "/v2/exports/licenses", a.exportList(export.Licenses)),
		auth.RouteWithQuery("GET", "/v2/exports/deliveries", a.exportList(export.Deliveries)),
		auth.RouteWithQuery("GET", "/v2/exports/requests", a.exportList(export.Requests)),
		auth.RouteWithQuery("GET", "/v2/exports/audit", a.exportList(export.Audit)),
		auth.RouteWithQuery("GET", "/v2/exports/revenue", a.exportList(export.Revenue)),
		auth.RouteWithQuery("GET", "/v2/exports/statements/{number}", a.exportStatement),
		auth.RouteWithQuery("GET", "/v2/earnings", own(a.PartnerEarnings)),
		auth.RouteWithQuery("GET", "/v2/statements", own(a.PartnerStatements)),
		auth.RouteWithQuery("GET", "/v2/statements/{number}", own(a.PartnerStatement)),
	}
}

// own returns the handler of an answer about the calling partner.
func own(answer func(w http.ResponseWriter, r *http.Request, partnerID int64) error) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error { return answer(w, r, p.ID) }
}

// named returns the handler of an answer about the partner's license in the path.
func (a *API) named(
	answer func(w http.ResponseWriter, r *http.Request, find func(context.Context) (license.License, error)) error,
) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
		return answer(w, r, func(ctx context.Context) (license.License, error) {
			return a.Licenses.OfPartner(ctx, p.ID, r.PathValue("license_key"))
		})
	}
}
