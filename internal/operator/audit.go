package operator

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// entryJSON is an audit entry on the wire.
type entryJSON struct {
	ID      int64           `json:"id"`
	At      wire.Time       `json:"at"`
	Actor   actorJSON       `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
}

// actorJSON is an actor on the wire.
type actorJSON struct {
	Kind    string `json:"kind"`
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Session string `json:"session"`
	Client  string `json:"client"`

	ActingFor    int64 `json:"acting_for,omitempty"`
	SupportVisit int64 `json:"support_visit,omitempty"`
}

func entryOf(e audit.Entry) entryJSON {
	a := e.Actor
	return entryJSON{
		ID: e.ID, At: wire.Time(e.At),
		Actor:  actorJSON{a.Kind, a.ID, a.Name, a.Session, a.Client, a.ActingFor, a.SupportVisit},
		Action: e.Action, Subject: e.Subject, Before: object(e.Before), After: object(e.After),
	}
}

// object returns the facts of an entry, {} if there are none.
func object(facts string) json.RawMessage {
	if facts == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(facts)
}

func (o *Operator) listAudit(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "subject", "action", "actor", "from", "to", "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	f, err := auditFilter(q)
	if err != nil {
		return err
	}
	list, more, err := o.Audit.List(r.Context(), f, p)
	if err != nil {
		return err
	}
	if err := o.nameUsers(r.Context(), list); err != nil {
		return err
	}
	wire.PageHeaders(w, r, p, -1, more)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, entryOf))
}

// auditFilter parses the filter of the query.
func auditFilter(q url.Values) (audit.Filter, error) {
	f := audit.Filter{Subject: q.Get("subject"), Action: q.Get("action")}
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		text := q.Get(name)
		if q.Has(name) {
			t, err := wire.ParseTime(text)
			if err != nil || t.Year() < 1970 || t.Year() > 2200 {
				return f, fault.Parameter(
					name,
					"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written "+
						"%%2B.",
				)
			}
			*to = t
		}
	}
	if !q.Has("actor") {
		return f, nil
	}
	var ok bool
	if f.ActorKind, f.ActorID, ok = audit.ParseActor(q.Get("actor")); !ok {
		return f, badActor()
	}
	return f, nil
}

func badActor() error {
	return fault.Parameter(
		"actor",
		"must be token, user or partner, each with or without an id such as user:3, or system.",
	)
}

// nameUsers fills in the names of the people who acted. Entries only have their ids, and erased
// people have no name.
func (o *Operator) nameUsers(ctx context.Context, list []audit.Entry) error {
	var ids []int64
	for _, e := range list {
		if e.Actor.Kind == audit.ByUser {
			ids = append(ids, e.Actor.ID)
		}
	}
	names, err := o.Accounts.Names(ctx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		if a := &list[i].Actor; a.Kind == audit.ByUser {
			a.Name = names[a.ID]
		}
	}
	return nil
}
