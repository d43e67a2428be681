// Package api is the HTTP API for partners' programs: the licensing and profile API under /v2, in
// JSON. It owns the wire form of requests and answers, and its description, openapi.yaml.
//
// It decides nothing about licenses, events, webhooks or profiles: it decodes, calls the domain
// package and answers. The database, statuses of faults and rate limits are below it; listeners,
// metrics and the request log are above.
package api

import (
	_ "embed"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/audit"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/simulator"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// API serves the routes. All services must be set; Limit and Guard may be nil.
type API struct {
	answers.Common
	Webhooks *webhook.Outbox
	Profiles *profile.Store
	Portal

	// Brand is the marketplace's name in the header X-<Brand>-Licensing-Key, which is equivalent to
	// X-Licensing-Key. If empty, there is no such header.
	Brand string

	// Version is the version of this program. Entity tags of other versions do not match, because
	// the form of an answer may have changed.
	Version string

	Limit *wire.Limiter // calls per key
	Guard *wire.Guard   // wrong keys per address

	// RedeliveryLimit limits the redelivery requests of one partner, for all its keys together. Nil
	// means no limit.
	RedeliveryLimit *wire.Limiter

	// Readers and Bytes bound the database connections and the unsent bytes of GET requests; each
	// partner has a share. Nil means no limit.
	Readers, Bytes *wire.Share

	text answers.LicenseText
}

// Portal has the services for calls that do the same as pages of the portal.
type Portal struct {
	Policy    webhook.Policy // rules for failing webhook URLs
	Audit     *audit.Log
	Accounts  *account.Store // for the names of people
	TestMail  *outage.TestMailer
	Simulator *simulator.Simulator
}

// description is openapi.yaml as JSON; a test keeps it so.
//
//go:embed openapi.json
var description []byte

// Handler serves the whole API.
func (a *API) Handler() http.Handler { return wire.NewMux(a.Routes()...) }

// Description returns the OpenAPI description of this API as JSON.
func Description() []byte { return description }

// describe answers with the description of this API.
func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return wire.Raw(w, http.StatusOK, description)
}

// actor returns the partner as the audit names it.
func actor(p partner.Partner) audit.Actor {
	return audit.Actor{Kind: audit.ByPartner, ID: p.ID, Name: p.Name}
}
