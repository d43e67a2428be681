package operator

import (
	"encoding/json"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/page"
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

// actorJSON is who acted on the wire.
type actorJSON struct {
	Kind string `json:"kind"`
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func entryOf(e audit.Entry) entryJSON {
	return entryJSON{
		ID: e.ID, At: wire.Time(e.At), Actor: actorJSON{e.Actor.Kind, e.Actor.ID, e.Actor.Name},
		Action: e.Action, Subject: e.Subject, Before: object(e.Before), After: object(e.After),
	}
}

// object is the facts of an entry, {} where there are none.
func object(facts string) json.RawMessage {
	if facts == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(facts)
}

func (o *Operator) listAudit(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "subject", "action", "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := page.Parse(q)
	if err != nil {
		return err
	}
	list, more, err := o.Audit.List(r.Context(), audit.Filter{Subject: q.Get("subject"), Action: q.Get("action")}, p)
	if err != nil {
		return err
	}
	wire.PageHeaders(w, r, p, -1, more)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, entryOf))
}
