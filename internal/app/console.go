package app

import (
	"claviger/internal/console"
	"claviger/internal/visitor"
)

// console makes the operators' pages: a line for each section, with what it needs.
func (a *App) console(site *visitor.Site) *console.Handler {
	r := a.services
	return &console.Handler{
		Shell:    console.Shell{Site: site, Streams: &a.streams, Now: a.cfg.Now},
		Partners: console.Partners{Partners: r.Partners, Profiles: r.Profiles, Webhooks: r.Webhooks},
	}
}
