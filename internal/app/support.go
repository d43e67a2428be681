package app

import (
	"cmp"

	"claviger/internal/partner"
)

// support gives operators access to the portals of partners.
func (a *App) support() *partner.Support {
	r := a.services
	return &partner.Support{
		Partners: r.Partners, Mail: r.Mail, PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"),
	}
}
