// Package api is the HTTP API for partners' programs: the licensing and profile API
// under /v2, in JSON. It owns the wire form of that API (what is read from a request,
// what an answer looks like) and its description, openapi.yaml.
//
// It decides nothing about licenses, events, webhooks or profiles: it decodes, calls the
// domain package and answers. The database, statuses of faults and rate limits are below
// it; listeners, metrics and the log line of a request are above.
package api

import (
	_ "embed"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/replay"
	"claviger/internal/requestlog"
	"claviger/internal/simulator"
	"claviger/internal/stats"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// API serves the routes. All services must be set; Limit and Guard may be nil.
type API struct {
	Partners *partner.Registry
	Licenses *license.Registry
	Events   *event.Log
	Webhooks *webhook.Outbox
	History  history.Reader
	Profiles *profile.Book
	Portal

	// PublicURL is the address that buyers reach, without a slash at its end; the
	// redemption and change-plan URLs of licenses begin with it.
	PublicURL string

	// Brand is the marketplace's name in the header X-<Brand>-Licensing-Key, which
	// then carries an API key as X-Licensing-Key does. Empty: there is no such
	// header.
	Brand string

	// Version is that of this program. An entity tag of another version is not one
	// of ours: the form of an answer may have changed.
	Version string

	Limit *wire.Limiter // how often one key may call
	Guard *wire.Guard   // how often one address may try a wrong key

	// Redeliveries is how often one partner may ask for a redelivery, whichever its
	// key. Nil: as often as it likes.
	Redeliveries *wire.Limiter

	// Readers and Bytes are what requests by GET read with and answer; each partner
	// has a share of them. Nil: there is enough.
	Readers, Bytes *wire.Share

	text licenseText
}

// Portal is what calls need that do what pages of the partner's portal do.
type Portal struct {
	Replays  *replay.Jobs
	Requests *requestlog.Log
	Exports  *export.Exporter
	Stats    *stats.Book
	Policy   webhook.Policy // what becomes of a webhook URL that fails
	Audit    *audit.Log
	Accounts *account.Book // knows the names of people
	TestMail *outage.TestMailer

	Simulator *simulator.Simulator
}

// description is openapi.yaml as JSON; a test keeps it so.
//
//go:embed openapi.json
var description []byte

// Handler serves the whole API.
func (a *API) Handler() http.Handler { return wire.NewMux(a.Routes()...) }

// Description returns the description of this API: OpenAPI, as JSON.
func Description() []byte { return description }

// describe answers the description of this API.
func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return wire.Raw(w, http.StatusOK, description)
}

// actor is the partner as the audit names it.
func actor(p partner.Partner) audit.Actor {
	return audit.Actor{Kind: audit.ByPartner, ID: p.ID, Name: p.Name}
}
