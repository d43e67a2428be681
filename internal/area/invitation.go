package area

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Invited is an invitation as its page shows it.
type Invited struct {
	Team, Role, Says, Email string
	IsFor                   func(email string) bool
}

// Invitations serves the page of an invitation to a team. GET shows it, POST accepts it.
type Invitations struct {
	Site *visitor.Site
	Path string // of the page
	Now  func() time.Time

	// Open returns the invitation of a token without changing it.
	Open func(ctx context.Context, token string) (Invited, error)
	// Accept accepts the invitation for the visitor.
	Accept func(ctx context.Context, v *visitor.Visitor, proof invitation.Proof, token string) (Accepted, error)
}

// Accepted is the result of accepting an invitation.
type Accepted struct {
	To, Text string // the next page, and its message
	Epoch    int64  // of the visitor's sessions that continue; all others have ended
}

// proof returns the visitor's proof of identity.
func proof(v *visitor.Visitor) invitation.Proof {
	p := invitation.Proof{Email: v.User.Email, SignedIn: v.Signed.At, Assisted: v.Signed.Assisted}
	if v.User.ProvenAt.IsZero() {
		p.Email = "" // an unconfirmed address proves nothing
	}
	return p
}

// Routes returns the routes of the page.
func (i *Invitations) Routes() []wire.Route {
	return []wire.Route{
		i.Site.Route(http.MethodGet, i.Path, visitor.Anyone, i.open),
		i.Site.Route(http.MethodPost, i.Path, visitor.SignedIn, i.accept),
	}
}

// open shows an invitation and changes nothing, because mail scanners open links, too. A cookie of
// this page keeps the token while the person signs in or up: the URL to return to is stored by us
// and must not contain it.
func (i *Invitations) open(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return i.show(w, r, v, cmp.Or(r.URL.Query().Get("token"), ui.Note(r)), nil)
}

func (i *Invitations) show(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, token string, refused error,
) error {
	n, err := i.Open(r.Context(), token)
	if refused != nil {
		err = refused
	}
	if f := fault.Of(err); f != nil {
		return i.Site.Render(w, r, v, ui.PageInvitation, ui.View{
			Title: "Invitation", NoIndex: true, Status: wire.Status(f.Kind),
			Data: ui.Invitation{Problem: f.Text, SignedIn: v.SignedIn()},
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
	if view.Mine && !proof(v).Suffices(i.Now()) {
		view.Again = true
		view.SignIn = visitor.SignInAgain(i.Path)
	}
	if !view.Mine || view.Again {
		i.Site.Pages.SetNote(w, i.Path, token)
	}
	return i.Site.Render(w, r, v, ui.PageInvitation, ui.View{Title: "Invitation", NoIndex: true, Data: view})
}

// accept adds the person to the team.
func (i *Invitations) accept(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	token := r.PostFormValue("token")
	done, err := i.Accept(r.Context(), v, proof(v), token)
	if fault.Is(err, invitation.CodeSignInAgain) {
		i.Site.Pages.SetNote(w, i.Path, token)
		ui.SeeOther(w, r, visitor.SignInAgain(i.Path))
		return nil
	}
	if fault.Of(err) != nil {
		return i.show(w, r, v, token, err)
	}
	if err != nil {
		return err
	}
	now := v.User
	now.SessionEpoch = done.Epoch
	if err := i.Site.StaySignedIn(r, v, now, v.Signed.At); err != nil {
		return err
	}
	i.Site.Pages.SetNote(w, i.Path, "")
	i.Site.Sessions.Flash(r.Context(), done.Text)
	ui.SeeOther(w, r, done.To)
	return nil
}
