// Package operator is the HTTP API for the marketplace's own programs: the JSON API under
// /operator/v1. It owns the wire format, described in openapi.yaml, and the access of tokens. The
// domain packages have all rules about partners, people, licenses and money.
//
// Each subject has its file: its wire form, the converting function, and the handlers, which
// decode, call a domain package and answer.
package operator

import (
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/answers"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/merge"
	"claviger/internal/outage"
	"claviger/internal/payment"
	"claviger/internal/payout"
	"claviger/internal/profile"
	"claviger/internal/support"
	"claviger/internal/webhook"
	"claviger/internal/wire"
)

// Operator serves the routes. All services must be set.
type Operator struct {
	answers.Common
	Accounts   *account.Store
	Accounting *accounting.Store
	Payouts    *payout.Store
	Merges     *merge.Store
	Profiles   *profile.Store
	Webhooks   *webhook.Outbox
	Audit      *audit.Log
	Bulk       *bulk.Store
	Service    Service
	Support    *support.Store
	TestMail   *outage.TestMailer
	Data       *answers.Person

	// Payments are those of the payment provider, if any.
	Payments *payment.Store

	// Limit bounds the calls of one token, Guard the wrong tokens from one address. Nil means no
	// limit.
	Limit *wire.Limiter
	Guard *wire.Guard

	// Batches bounds the batches of orders that are sold at the same time. Each token has a share
	// of them, and waits for it. Nil means no limit.
	Batches *wire.Share

	recent recentTokens
}

// Handler serves the whole API.
func (o *Operator) Handler() http.Handler { return wire.NewMux(o.Routes()...) }

// auth makes routes of handlers that need a token.
func (o *Operator) auth() *wire.AuthRoutes[account.Token] {
	return &wire.AuthRoutes[account.Token]{
		Authenticate: o.authenticate, Recall: o.recall, Name: name, Limit: o.Limit, Guard: o.Guard,
	}
}

// Routes returns the table of the API: paths, handlers, and the scope that the token needs.
func (o *Operator) Routes() []wire.Route {
	auth := o.auth()
	on := func(scope account.Scope, method, path string, h wire.Handler[account.Token]) wire.Route {
		return auth.Route(method, "/operator/v1"+path, h, may(scope))
	}
	list := func(path string, h wire.Handler[account.Token]) wire.Route {
		return auth.RouteWithQuery("GET", "/operator/v1"+path, h, may(account.Read))
	}
	return slices.Concat([]wire.Route{
		wire.Public("GET", "/operator/v1/openapi.json", description),

		on(account.Admin, "POST", "/partners", o.createPartner),
		list("/partners", o.listPartners),
		on(account.Read, "GET", "/partners/{id}", o.getPartner),
		on(account.Admin, "PATCH", "/partners/{id}", o.changePartner),
		on(account.Admin, "DELETE", "/partners/{id}", o.deletePartner),
		on(account.Admin, "POST", "/partners/{id}/pause", o.pausePartner),
		on(account.Admin, "POST", "/partners/{id}/resume", o.resumePartner),
		on(account.Admin, "POST", "/partners/{id}/rotate", o.rotate),
		on(account.Admin, "POST", "/partners/{id}/switch", o.switchSecret),
		on(account.Admin, "POST", "/partners/{id}/members", o.addMember),
		on(account.Read, "GET", "/partners/{id}/product", o.getProduct),
		on(account.Admin, "PATCH", "/partners/{id}/product", o.changeProduct),
		on(account.Read, "GET", "/partners/{id}/plans", o.listPlans),
		on(account.Read, "GET", "/partners/{id}/plans/{tier}", o.getPlan),
		on(account.Admin, "PUT", "/partners/{id}/plans/{tier}", o.putPlan),
		on(account.Admin, "DELETE", "/partners/{id}/plans/{tier}", o.deletePlan),
		on(account.Support, "POST", "/partners/{id}/redeliver", o.redeliverSpan),
		on(account.Read, "GET", "/partners/{id}/redeliver", o.lastRedelivery),
		list("/partners/{id}/requests", o.aboutPartner(o.PartnerRequests)),
		list("/partners/{id}/stats", o.aboutPartner(o.PartnerStats)),

		on(account.Sell, "POST", "/refunds", o.refund),
		on(account.Sell, "POST", "/refunds/{id}/reverse", o.reverseRefund),

		list("/licenses", o.searchLicenses),
		on(account.Read, "GET", "/licenses/{key}", o.getLicense),
		on(account.Read, "GET", "/licenses/{key}/explain", o.about(o.ExplainLicense)),
		list("/licenses/{key}/events", o.about(o.LicenseEvents)),
		list("/licenses/{key}/webhook-responses", o.about(o.LicenseResponses)),
		on(account.Support, "POST", "/licenses/{key}/hold", o.hold),
		on(account.Support, "POST", "/licenses/{key}/reinstate", o.reinstate),
		on(account.Support, "POST", "/licenses/{key}/release", o.release),
		on(account.Support, "POST", "/licenses/{key}/activate", o.activate),
		on(account.Support, "POST", "/licenses/{key}/transfer", o.transfer),
		on(account.Sell, "POST", "/licenses/{key}/plan", o.changePlan),

		list("/events", o.feed),
		on(account.Support, "POST", "/events/{id}/redeliver", o.redeliver),
	}, o.saleRoutes(auth, on, list), o.userRoutes(on, list), o.sessionRoutes(on), o.contactRoutes(on),
		o.deliveryRoutes(on, list),
		o.exportRoutes(list), o.bulkRoutes(on, list), o.serviceRoutes(on, list), o.paymentRoutes(on),
		o.searchRoutes(on, list), o.orderRoutes(on, list), o.refundRequestRoutes(on, list),
		o.ledgerRoutes(on, list), o.payoutRoutes(auth, on, list))
}

// may returns the check that a token has a scope.
func may(scope account.Scope) func(account.Token) error {
	return func(t account.Token) error {
		if t.May(scope) {
			return nil
		}
		return fault.New(
			fault.Forbidden, codeMissingScope,
			"This needs an operator token with the scope %s; %s does not have it.", scope, t.Name,
		)
	}
}

// name returns the name of a token for the request log.
func name(t account.Token) string { return "token:" + strconv.FormatInt(t.ID, 10) }

// actor returns a token as the audit names it.
func actor(t account.Token) audit.Actor {
	return audit.Actor{Kind: audit.ByToken, ID: t.ID, Name: t.Name}
}
