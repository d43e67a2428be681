package app

import (
	"cmp"
	"context"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
)

// support lets operators into the portals of partners.
func (a *App) support() *partner.Support {
	r := a.services
	return &partner.Support{Partners: r.Partners, Mail: r.Mail, PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"), Emails: account.Emails}
}

// portalRole returns what an operator may do at most in a partner's portal as support: no
// more than by the operator API, where changes of a partner need an admin.
func portalRole(accounts *account.Book) func(context.Context, int64) (partner.Role, error) {
	return func(ctx context.Context, userID int64) (partner.Role, error) {
		u, err := accounts.Get(ctx, userID)
		switch {
		case fault.Is(err, account.CodeUnknownUser):
			return "", nil
		case err != nil:
			return "", err
		case !u.ErasedAt.IsZero() || accounts.Require.Of(u) && !u.SecondFactor:
			return "", nil
		case u.Role.May(account.Admin):
			return partner.Admin, nil
		case u.Role.May(account.Support):
			return partner.Developer, nil
		}
		return "", nil
	}
}
