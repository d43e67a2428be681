package area

import (
	"cmp"
	"context"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Invited is an invitation as its page shows it.
type Invited struct {
	Team, Role, Says, Email string
	IsFor                   func(email string) bool
}

// Invitations is the page of the invitations to a team. GET shows one, POST accepts it.
type Invitations struct {
	Site *visitor.Site
	Path string // of the page

	// Open returns the invitation of a token and leaves it as it is.
	Open func(ctx context.Context, token string) (Invited, error)
	// Accept accepts it for the visitor, who has proven the address email, and returns where
	// they go then and what that page says.
	Accept func(ctx context.Context, v *visitor.Visitor, email, token string) (to, text string, err error)
}

// Routes returns the routes of the page.
func (i *Invitations) Routes() []wire.Route {
	return []wire.Route{
		i.Site.Route(http.MethodGet, i.Path, visitor.Anyone, i.open),
		i.Site.Route(http.MethodPost, i.Path, visitor.SignedIn, i.accept),
	}
}

// open shows an invitation and changes nothing: mail scanners open links, too. The token
// stays in a cookie of this page while the person signs in or up, since what they come
// back to is stored by us, where the token must not be.
func (i *Invitations) open(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return i.show(w, r, v, cmp.Or(r.URL.Query().Get("token"), ui.Note(r)), nil)
}

func (i *Invitations) show(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, token string, refused error) error {
	n, err := i.Open(r.Context(), token)
	if refused != nil {
		err = refused
	}
	if f := fault.Of(err); f != nil {
		return i.Site.Render(w, r, v, ui.PageInvitation, ui.View{
			Title: "Invitation", NoIndex: true, Status: wire.Status(f.Kind), Data: ui.Invitation{Problem: f.Text, SignedIn: v.SignedIn()},
		})
	}
	if err != nil {
		return err
	}
	view := ui.Invitation{
		Team: n.Team, Role: n.Role, Says: n.Says, Email: n.Email, SignedIn: v.SignedIn(), Token: token, Action: i.Path,
		Mine: v.SignedIn() && n.IsFor(v.User.Email), Person: v.User.Email,
		SignIn: visitor.SignIn(i.Path), SignUp: "/sign-up?next=" + i.Path,
	}
	if !view.Mine {
		i.Site.Pages.SetNote(w, i.Path, token)
	}
	return i.Site.Render(w, r, v, ui.PageInvitation, ui.View{Title: "Invitation", NoIndex: true, Data: view})
}

// accept has the person join.
func (i *Invitations) accept(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	token, email := r.PostFormValue("token"), v.User.Email
	if v.User.ProvenAt.IsZero() {
		email = "" // an address that was not proven is nobody's
	}
	to, text, err := i.Accept(r.Context(), v, email, token)
	if fault.Of(err) != nil {
		return i.show(w, r, v, token, err)
	}
	if err != nil {
		return err
	}
	i.Site.Pages.SetNote(w, i.Path, "")
	i.Site.Sessions.Flash(r.Context(), text)
	ui.SeeOther(w, r, to)
	return nil
}
