package portal

import (
	"cmp"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// invitationView shows an invitation to whoever has its link.
type invitationView struct {
	Problem  string // it cannot be accepted
	Partner  string
	Role     partner.Role
	Says     string
	Email    string
	SignedIn bool
	Mine     bool // it is for the address of who is signed in
	Person   string
	Token    string
	SignIn   string
	SignUp   string
}

// invitation shows an invitation and changes nothing: mail scanners open links, too. The
// token stays in a cookie of this page while the person signs in or up, since what they
// come back to is stored by us, where the token must not be.
func (h *Handler) invitation(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	token := cmp.Or(r.URL.Query().Get("token"), ui.Note(r))
	return h.showInvitation(w, r, v, token, nil)
}

func (h *Handler) showInvitation(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, token string, refused error) error {
	o, err := h.Inviter.Open(r.Context(), token)
	if refused != nil {
		err = refused
	}
	if f := fault.Of(err); f != nil {
		return h.Site.Render(w, r, v, "invitation", ui.View{
			Title: "Invitation", NoIndex: true, Status: wire.Status(f.Kind), Data: invitationView{Problem: f.Text, SignedIn: v.SignedIn()},
		})
	}
	if err != nil {
		return err
	}
	view := invitationView{
		Partner: o.Partner.Name, Role: o.Role, Says: o.Role.Sentence(), Email: o.Email, SignedIn: v.SignedIn(), Token: token,
		Mine: v.SignedIn() && o.IsFor(v.User.Email), Person: v.User.Email,
		SignIn: visitor.SignIn(partner.InvitationPath), SignUp: "/sign-up?next=" + partner.InvitationPath,
	}
	if !view.Mine {
		h.Site.Pages.SetNote(w, partner.InvitationPath, token)
	}
	return h.Site.Render(w, r, v, "invitation", ui.View{Title: "Invitation", NoIndex: true, Data: view})
}

// accept makes the person a member.
func (h *Handler) accept(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	token, email := r.PostFormValue("token"), v.User.Email
	if v.User.ProvenAt.IsZero() {
		email = "" // an address that was not proven is nobody's
	}
	o, err := h.Inviter.Accept(r.Context(), v.Actor(), v.User.ID, email, token)
	if fault.Of(err) != nil {
		return h.showInvitation(w, r, v, token, err)
	}
	if err != nil {
		return err
	}
	visit := &Visit{Visit: area.Visit[partner.Role]{Visitor: v}, Partner: o.Partner}
	h.Site.Pages.SetNote(w, partner.InvitationPath, "")
	return h.done(w, r, visit, "", fmt.Sprintf("Welcome to the team of %s.", o.Partner.Name))
}
