package portal

import (
	"context"
	"fmt"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/visitor"
)

// invitations is the page of the invitations to the teams of partners.
func (h *Handler) invitations() *area.Invitations {
	return &area.Invitations{
		Site: h.Site, Path: partner.InvitationPath,
		Open: func(ctx context.Context, token string) (area.Invited, error) {
			o, err := h.Inviter.Open(ctx, token)
			return area.Invited{Team: o.Partner.Name, Role: string(o.Role), Says: o.Role.Sentence(), Email: o.Email, IsFor: o.IsFor}, err
		},
		Accept: func(ctx context.Context, v *visitor.Visitor, email, token string) (to, text string, err error) {
			o, err := h.Inviter.Accept(ctx, v.Actor(), v.User.ID, email, token)
			return (&Visit{Partner: o.Partner}).Path(""), fmt.Sprintf("Welcome to the team of %s.", o.Partner.Name), err
		},
	}
}
