// Package support answers what the marketplace's people look up: what a text names
// (Search), and what happened to a license, in one timeline (Case). It has no tables;
// it asks the packages that own them.
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

// Desk is where people look things up. All services must be set.
type Desk struct {
	DB       *sqldb.DB
	Accounts *account.Book
	Partners *partner.Registry
	Licenses *license.Registry
	Events   *event.Log
	History  history.Reader
	OAuth    *oauth.Server
	Audit    *audit.Log
	Payments *payment.Book
}
