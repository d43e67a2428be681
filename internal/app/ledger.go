package app

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/accounting"
	"claviger/internal/ledger"
	"claviger/internal/payout"
	"claviger/internal/secret"
	"claviger/internal/statement"
)

// accounting returns the store that keeps the ledger up to date.
func (a *App) accounting(r *Services) *accounting.Store {
	return &accounting.Store{
		DB: r.DB, Now: a.cfg.Now, Defaults: a.cfg.Defaults, Licenses: r.Licenses, Payments: r.Payments, Log: a.log,
	}
}

// payouts returns the store of payout runs.
func (a *App) payouts(r *Services, box *secret.Sealer) *payout.Store {
	return &payout.Store{
		DB: r.DB, Now: a.cfg.Now, Sealer: box, Books: r.Accounting, Defaults: a.cfg.Defaults, Mail: r.Mail,
		PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"),
	}
}

// statements returns the store that writes and reads statements.
func (a *App) statements(r *Services) *statement.Store {
	zone, err := time.LoadLocation(a.cfg.TimeZone)
	if err != nil { // timeZone has checked the name
		zone = time.UTC
	}
	return &statement.Store{
		DB: r.DB, Now: a.cfg.Now, Zone: zone, Defaults: a.cfg.Defaults, Mail: r.Mail,
		Marketplace: cmp.Or(a.cfg.Name, a.service()), PublicURL: a.url, Log: a.log,
	}
}

// ledgerCheck returns the daily check of the ledger.
func (a *App) ledgerCheck() *accounting.Check {
	return &accounting.Check{
		DB: a.services.DB, Now: a.cfg.Now, Name: ledgerCheckJob,
		Ran: a.runs.Of(ledgerCheckJob, accounting.CheckEvery), Log: a.log,
	}
}

// defaultShare sets the share of partners without terms.
func defaultShare(c *Config, value string) error {
	if value == "" {
		c.Defaults = ledger.Defaults{}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > ledger.Whole {
		return fmt.Errorf("must be a number of basis points from 0 to %d, such as 7000 for 70 %%", ledger.Whole)
	}
	c.Defaults = ledger.Defaults{Set: true, ShareBP: n}
	return nil
}

// timeZone sets the time zone in which months begin and end.
func timeZone(c *Config, value string) error {
	if _, err := time.LoadLocation(value); err != nil || value == "" || value == "Local" {
		return errors.New("must be the name of a time zone, such as Europe/Berlin or UTC")
	}
	c.TimeZone = value
	return nil
}
