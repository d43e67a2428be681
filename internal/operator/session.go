package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/wire"
)

// sessionJSON is a session of a user on the wire.
type sessionJSON struct {
	ID         string    `json:"id"`
	Browser    string    `json:"browser"`
	Client     string    `json:"client"`
	BegunAt    wire.Time `json:"begun_at"`
	LastUsedAt wire.Time `json:"last_used_at"`
}

func sessionOf(s account.SignedSession) sessionJSON {
	return sessionJSON{s.ID, s.Browser, s.Client, wire.Time(s.BegunAt), wire.Time(s.SeenAt)}
}

// sessionRoutes returns the routes of users' sessions.
func (o *Operator) sessionRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Support, "GET", "/users/{id}/sessions", o.listSessions),
		on(account.Support, "DELETE", "/users/{id}/sessions", o.endSessions),
		on(account.Support, "DELETE", "/users/{id}/sessions/{session_id}", o.endSession),
	}
}

// listSessions answers with the whole result of Store.SessionsOf, which is bounded.
func (o *Operator) listSessions(w http.ResponseWriter, r *http.Request, t account.Token) error {
	u, err := o.served(r, t)
	if err != nil {
		return err
	}
	list, err := o.Accounts.SessionsOf(r.Context(), u)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, sessionOf))
}

func (o *Operator) endSessions(w http.ResponseWriter, r *http.Request, t account.Token) error {
	u, err := o.served(r, t)
	if err != nil {
		return err
	}
	if _, err := o.Accounts.SignOutEverywhere(r.Context(), actor(t), u.ID); err != nil {
		return err
	}
	return wire.NoContent(w)
}

func (o *Operator) endSession(w http.ResponseWriter, r *http.Request, t account.Token) error {
	u, err := o.served(r, t)
	if err != nil {
		return err
	}
	if err := o.Accounts.EndSession(r.Context(), actor(t), u, r.PathValue("session_id")); err != nil {
		return err
	}
	return wire.NoContent(w)
}
