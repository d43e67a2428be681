package app

import "claviger/internal/export"

// exporter returns the exporter of lists.
func (a *App) exporter(r *Services) *export.Exporter {
	return &export.Exporter{
		DB: r.DB, Now: a.cfg.Now, Licenses: r.Licenses, Events: r.Events, Audit: r.Audit, History: r.History,
		Requests: r.Requests, Accounts: r.Accounts, Payments: r.Payments, Payouts: r.Payouts,
		Statements: r.Statements,
		Revenue:    r.Revenue,
	}
}
