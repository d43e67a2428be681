package app

import (
	"claviger/internal/console"
	"claviger/internal/live"
	"claviger/internal/visitor"
)

// console makes the operators' pages: a line for each section, with what it needs.
func (a *App) console(site *visitor.Site) *console.Handler {
	r := a.services
	return &console.Handler{
		Shell:    console.Shell{Site: site, Streams: &a.streams, Rights: &live.Versions{Read: r.Accounts.TeamVersions, Log: a.log}, Now: a.cfg.Now},
		Partners: console.Partners{Partners: r.Partners, Profiles: r.Profiles, Webhooks: r.Webhooks},
		Team:     console.Team{Accounts: r.Accounts},
	}
}
