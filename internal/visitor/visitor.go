// Package visitor identifies the visitor of a page, checks their access, and sends people to the
// sign-in page if needed. Every package of pages (shop, signin, portal, console) creates its routes
// here, so that no page can leave a check out.
//
// It owns no page and no table: users and sessions belong to package account, the session cookie
// and the look of pages to package ui.
package visitor

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// Visitor is the person behind a request. They may be signed in.
type Visitor struct {
	User   account.User // zero if neither signed in nor a guest
	Guest  bool         // the shop knows them as a guest, who is not signed in
	Signed ui.Signed    // how they signed in

	Serves bool // they are known to act for a partner, for example on one of its pages

	Session string // the id of the session, for the audit
	Client  string // the address of the client, for the audit
}

// SignedIn reports whether the visitor is signed in.
func (v *Visitor) SignedIn() bool { return v.User.ID != 0 && !v.Guest }

// Actor returns the person as the audit names them.
func (v *Visitor) Actor() audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: v.User.ID, Session: v.Session, Client: v.Client}
}

// Site creates and shows the pages of one package.
type Site struct {
	Pages    *ui.Pages
	Sessions *ui.Sessions // one for all sites of the service
	Accounts *account.Store
	Partners *partner.Store
}

// visitor reads the signed-in user. A session that was ended elsewhere, or of an erased user, has
// none.
func (s *Site) visitor(r *http.Request) (*Visitor, error) {
	signed, ok := s.Sessions.SignedIn(r.Context())
	if !ok {
		return &Visitor{Client: wire.Client(r)}, nil
	}
	u := account.Holder(r.Context())
	err := error(nil)
	if u.ID != signed.UserID {
		u, err = s.user(r.Context(), signed.UserID)
	}
	switch {
	case err != nil:
		return nil, err
	case !holds(u, signed):
		return &Visitor{Client: wire.Client(r)}, s.Sessions.SignOut(r.Context())
	}
	v := &Visitor{
		User:    u,
		Signed:  signed,
		Session: account.SessionID(s.Sessions.Key(r.Context())),
		Client:  wire.Client(r),
	}
	if s.Sessions.Touched(r.Context()) {
		err = s.Accounts.NoteSession(r.Context(), s.Sessions.Key(r.Context()), s.session(r, u, signed.At))
	}
	return v, err
}

// user returns the stored user, a zero User if there is none.
func (s *Site) user(ctx context.Context, id int64) (account.User, error) {
	u, err := s.Accounts.Get(ctx, id)
	if fault.Is(err, account.CodeUnknownUser) {
		err = nil
	}
	return u, err
}

// holds reports whether a user is still signed in: the session was not ended elsewhere.
func holds(u account.User, signed ui.Signed) bool {
	return u.ID != 0 && u.ErasedAt.IsZero() && u.SessionEpoch == signed.Epoch && (signed.Factor || !u.SecondFactor)
}

// Holder returns the visitor of a request that no page serves, such as that of an unknown path.
func (s *Site) Holder(ctx context.Context, r *http.Request) (*Visitor, error) {
	v := &Visitor{Client: wire.Client(r)}
	signed, key, ok, err := s.Sessions.Holder(ctx, r)
	if err != nil || !ok {
		return v, err
	}
	u, err := s.user(ctx, signed.UserID)
	if err == nil && holds(u, signed) {
		v.User, v.Signed, v.Session = u, signed, account.SessionID(key)
	}
	return v, err
}

// aroundTimeout bounds the wait of an error page for its visitor.
const aroundTimeout = time.Second

// FrameErrors makes error pages show the visitor, their menu, their visit as support, and the way to
// the start of the area.
func (s *Site) FrameErrors() {
	s.Pages.Around = s.around
	s.Pages.Mark = s.mark
	s.Pages.Start = Start
}

// around returns the name and the menu of the visitor, for an error page; nothing if they are
// unknown.
func (s *Site) around(r *http.Request) (person string, menu []ui.Item) {
	// The request's own deadline may be the error.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), aroundTimeout)
	defer cancel()
	v, err := s.Holder(ctx, r)
	if err != nil {
		return "", nil
	}
	if menu, err = s.menu(ctx, r.URL.Path, v); err != nil {
		return "", nil
	}
	return v.name(), menu
}

// name returns the person's name in the header.
func (v *Visitor) name() string {
	if !v.SignedIn() {
		return ""
	}
	return cmp.Or(v.User.Name, v.User.Email)
}

// Again reads the visitor of a request in progress again. It returns ErrSignIn or errSignInAgain if
// they have signed out since, or their session has ended in another way.
func (s *Site) Again(ctx context.Context, r *http.Request, v *Visitor) (*Visitor, error) {
	token := s.Sessions.Token(r.Context()) //nolint:contextcheck // the request knows the token
	signed, ok, err := s.Sessions.SignedInNow(ctx, token)
	if err != nil {
		return nil, err
	}
	if !ok || signed.UserID != v.User.ID {
		return nil, ErrSignIn
	}
	u, err := s.user(ctx, signed.UserID)
	if err == nil && !holds(u, signed) {
		err = ErrSignIn
	}
	if err != nil {
		return nil, err
	}
	now := *v
	now.User = u
	now.Signed = signed
	return &now, s.recent(r, &now)
}

// Render shows a page of the site to a visitor, with their name and, unless the view has its own
// menu, the usual menu.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, v *Visitor, name string, view ui.View) error {
	view.Person = v.name()
	if view.Menu == nil && (view.Fragment == "" || !ui.IsFragment(r)) {
		menu, err := s.menu(r.Context(), r.URL.Path, v)
		if err != nil {
			return err
		}
		view.Menu = menu
	}
	return s.Pages.Render(w, r, name, view)
}
