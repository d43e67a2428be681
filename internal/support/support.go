// Package support looks things up for the marketplace's people: things by a text (Search), and the
// history of a license in one timeline (Case). It has no tables; it asks the packages that own
// them.
package support

import (
	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// Store looks things up. All services must be set.
type Store struct {
	DB       *sqldb.DB
	Accounts *account.Store
	Partners *partner.Store
	Licenses *license.Store
	Events   *event.Log
	History  history.Reader
	OAuth    *oauth.Server
	Audit    *audit.Log
	Payments *payment.Store
}
