package visitor

import (
	"context"
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/oauth"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// signedInFor is the session's record of a sign-in on the way to an application's request: the
// time, and the hash of the path, because sessions are small. A mere request to sign in is not
// recorded, because anyone could fill the table of sessions.
const signedInFor = "signed-in-for"

// SignIn turns this session into that of a user who signs in now, with an entry that has completed
// its steps. A sign-in with a new browser is reported to the user by email.
func (s *Site) SignIn(r *http.Request, e account.Entry, now time.Time, newBrowser bool) error {
	ctx := r.Context()
	u := e.User
	if err := s.Sessions.SignIn(ctx, signed(u, now, e.Purpose == account.ForAssisted)); err != nil {
		return err
	}
	if strings.HasPrefix(e.Next, oauth.AuthorizePath+"?") {
		s.Sessions.Put(ctx, signedInFor, now.Format(time.RFC3339Nano)+" "+secret.Hash(e.Next))
	} else {
		s.Sessions.Pop(ctx, signedInFor)
	}
	session := s.session(r, u, now)
	session.NewBrowser = newBrowser
	return s.Accounts.NoteSession(ctx, s.Sessions.Key(ctx), session)
}

// signed returns a new session of the user. A user with a second factor has proven it, too.
func signed(u account.User, at time.Time, assisted bool) ui.Signed {
	return ui.Signed{
		UserID: u.ID, Epoch: u.SessionEpoch, Staff: u.StaffEpoch, At: at, Factor: u.SecondFactor,
		Assisted: assisted,
	}
}

// StaySignedIn replaces the session of a visitor's browser by a new one of u, the current user. It
// is for when all other sessions ended, or the person proved their identity again at the time at.
// An assisted session stays one.
func (s *Site) StaySignedIn(r *http.Request, v *Visitor, u account.User, at time.Time) error {
	ctx := r.Context()
	old := s.Sessions.Key(ctx)
	if err := s.Sessions.SignIn(ctx, signed(u, at, v.Signed.Assisted)); err != nil {
		return err
	}
	session := s.session(r, u, at)
	session.Replaces = old
	return s.Accounts.NoteSession(ctx, s.Sessions.Key(ctx), session)
}

// session describes the session of a request to its owner.
func (s *Site) session(r *http.Request, u account.User, begun time.Time) account.NewSession {
	return account.NewSession{
		UserID: u.ID, Epoch: u.SessionEpoch, Browser: Browser(r.UserAgent()), Client: wire.Client(r),
		BegunAt: begun,
	}
}

// SignOut ends the session of this browser and clears its cache of our pages, so that the next user
// of the browser cannot go back to them.
func (s *Site) SignOut(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Clear-Site-Data", `"cache"`)
	return s.Sessions.SignOut(r.Context())
}

// TakeSignIn returns and removes the record of a sign-in on the way to an application's request:
// the same request sent again is a new one. It returns "" if there is none; see
// Visitor.SignedInFor.
func (s *Site) TakeSignIn(ctx context.Context) string { return s.Sessions.Pop(ctx, signedInFor) }

// SignedInFor reports whether a record of TakeSignIn is about the path next, and the visitor has
// been signed in since.
func (v *Visitor) SignedInFor(record, next string) bool {
	at, hash, _ := strings.Cut(record, " ")
	signed, err := time.Parse(time.RFC3339Nano, at)
	return err == nil && hash == secret.Hash(next) && !v.Signed.At.Before(signed)
}
