package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// memberBody gives a person access to a partner's portal.
type memberBody struct {
	Email string       `json:"email"`
	Role  partner.Role `json:"role"`
}

// memberJSON is a member on the wire.
type memberJSON struct {
	PartnerID int64        `json:"partner_id"`
	UserID    int64        `json:"user_id"`
	Email     string       `json:"email"`
	Role      partner.Role `json:"role"`
	CreatedAt wire.Time    `json:"created_at"`
}

// addMember checks the role and the partner before it creates the user, so that a request refused
// for these leaves no user behind.
func (o *Operator) addMember(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b memberBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	switch b.Role {
	case partner.Admin, partner.Developer, partner.Viewer:
	default:
		return fault.Field("role", "must be admin, developer or viewer.")
	}
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	u, _, err := o.Accounts.Create(r.Context(), actor(t), account.Person{Email: b.Email})
	if err != nil {
		return err
	}
	m, err := o.Partners.AddMember(r.Context(), actor(t), p.ID, u.ID, b.Role)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, memberJSON{m.PartnerID, m.UserID, u.Email, m.Role, wire.Time(m.CreatedAt)})
}
