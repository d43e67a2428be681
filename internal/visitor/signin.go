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

// signedInFor is the session's record of a sign-in on the way to an application's
// request: when, and the hash of the path, because sessions are small. Being sent
// to sign in is not recorded: anybody could fill the table of sessions.
const signedInFor = "signed-in-for"

// SignIn makes this the session of a user who signs in now, on the way to the path
// next. Whoever has a second factor has proven it, too. They are told by mail of a sign-in
// with a new browser.
func (s *Site) SignIn(r *http.Request, u account.User, now time.Time, next string, newBrowser bool) error {
	ctx := r.Context()
	if err := s.Sessions.SignIn(ctx, ui.Signed{UserID: u.ID, Epoch: u.SessionEpoch, At: now, Factor: u.SecondFactor}); err != nil {
		return err
	}
	if strings.HasPrefix(next, oauth.AuthorizePath+"?") {
		s.Sessions.Put(ctx, signedInFor, now.Format(time.RFC3339Nano)+" "+secret.Hash(next))
	} else {
		s.Sessions.Pop(ctx, signedInFor)
	}
	session := s.session(r, u, now)
	session.NewBrowser = newBrowser
	return s.Accounts.NoteSession(ctx, s.Sessions.Key(ctx), session)
}

// StaySignedIn gives this browser a session of the user in place of the one it had: all
// others ended, or the person proved again, at the time at, who they are.
func (s *Site) StaySignedIn(r *http.Request, u account.User, at time.Time) error {
	ctx := r.Context()
	old := s.Sessions.Key(ctx)
	if err := s.Sessions.SignIn(ctx, ui.Signed{UserID: u.ID, Epoch: u.SessionEpoch, At: at, Factor: u.SecondFactor}); err != nil {
		return err
	}
	session := s.session(r, u, at)
	session.Replaces = old
	return s.Accounts.NoteSession(ctx, s.Sessions.Key(ctx), session)
}

// session describes the session of a request to its owner.
func (s *Site) session(r *http.Request, u account.User, begun time.Time) account.NewSession {
	return account.NewSession{UserID: u.ID, Epoch: u.SessionEpoch, Browser: Browser(r.UserAgent()), Client: wire.Client(r), BegunAt: begun}
}

// SignOut ends the session of this browser and has it remove what it cached of our
// pages, so that nobody who uses it next goes back to them.
func (s *Site) SignOut(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Clear-Site-Data", `"cache"`)
	return s.Sessions.SignOut(r.Context())
}

// TakeSignIn returns the record of a sign-in on the way to an application's request
// and removes it: the same request sent again is a new one. It is "" if there is
// none; see Visitor.SignedInFor.
func (s *Site) TakeSignIn(ctx context.Context) string { return s.Sessions.Pop(ctx, signedInFor) }

// SignedInFor reports whether a record of TakeSignIn is about the path next, and the
// visitor has been signed in since.
func (v *Visitor) SignedInFor(record, next string) bool {
	at, hash, _ := strings.Cut(record, " ")
	signed, err := time.Parse(time.RFC3339Nano, at)
	return err == nil && hash == secret.Hash(next) && !v.Signed.At.Before(signed)
}
