package api

import (
	"strconv"

	"claviger/internal/partner"
	"claviger/internal/wire"
)

// Routes is the table of the door, made before anything is served. Its paths are
// those of openapi.yaml, which a test compares.
func (a *API) Routes() []wire.Route {
	a.text = newLicenseText(a.PublicURL)
	door := &wire.AuthRoutes[partner.Partner]{
		Authenticate: a.authenticate,
		Name:         func(p partner.Partner) string { return "partner:" + strconv.FormatInt(p.ID, 10) },
		Bucket:       a.bucket,
		Limit:        a.Limit,
		Guard:        a.Guard,
		Readers:      a.Readers,
		Bytes:        a.Bytes,
	}
	return []wire.Route{
		door.RouteWithQuery("GET", "/v2/licenses", a.listLicenses),
		door.RouteWithQuery("GET", "/v2/licenses/events", a.listEvents),
		door.Route("GET", "/v2/licenses/{license_key}", a.readLicense),
		door.RouteWithQuery("GET", "/v2/licenses/{license_key}/events", a.listLicenseEvents),
		door.RouteWithQuery("GET", "/v2/licenses/{license_key}/webhook-responses", a.listResponses),
		door.Route("GET", "/v2/licenses/{license_key}/explain", a.explainLicense),
		door.Route("POST", "/v2/events/{event_id}/redeliver", a.redeliver),
		door.Route("GET", "/v2/profile", a.readProfile),
		door.Route("PUT", "/v2/profile", a.updateProfile),
		door.Route("PATCH", "/v2/profile", a.updateProfile),
		door.Route("POST", "/v2/profile/contact", a.addContact),
		door.Route("DELETE", "/v2/profile/contact/{contact_id}", a.deleteContact),
		wire.Public("GET", "/v2/openapi.json", a.describe),
	}
}
