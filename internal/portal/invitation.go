package portal

import (
	"cmp"
	"context"
	"fmt"

	"claviger/internal/area"
	"claviger/internal/invitation"
	"claviger/internal/partner"
	"claviger/internal/visitor"
)

// invitations returns the page of an invitation to a partner's team.
func (h *Handler) invitations() *area.Invitations {
	return &area.Invitations{
		Site: h.Site, Path: partner.InvitationPath, Now: h.Now,
		Open: func(ctx context.Context, token string) (area.Invited, error) {
			o, err := h.Inviter.Open(ctx, token)
			return area.Invited{
				Team: o.Partner.Name, Role: string(o.Role), Says: o.Role.Sentence(), Email: o.Email, IsFor: o.IsFor,
			}, err
		},
		Accept: func(
			ctx context.Context, v *visitor.Visitor, proof invitation.Proof, token string,
		) (area.Accepted, error) {
			o, err := h.Inviter.Accept(ctx, v.Actor(), v.User.ID, proof, token)
			return area.Accepted{
				To:    (&Visit{Partner: o.Partner}).Path(""),
				Text:  fmt.Sprintf("Welcome to the team of %s.", o.Partner.Name),
				Epoch: cmp.Or(o.Epoch, v.User.SessionEpoch),
			}, err
		},
	}
}
