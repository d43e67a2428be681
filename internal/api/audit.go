package api

import (
	"net/http"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// entryAnswer is an act on the partner on the wire. It does not name the marketplace's people or
// contain their notes.
type entryAnswer struct {
	ID     int64       `json:"id"`
	At     wire.Time   `json:"at"`
	Actor  actorAnswer `json:"actor"`
	Action string      `json:"action"`
	Text   string      `json:"text"`
}

// actorAnswer is an actor on the wire.
type actorAnswer struct {
	Kind audit.Origin `json:"kind"`
	Name string       `json:"name"`
}

func (a *API) listAudit(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	q, err := wire.Query(r, "cursor", "page", "limit")
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	if asked.Number > 1 {
		return fault.Parameter("page", "has no number here beyond 1. Follow the next link of a page unchanged.")
	}
	span := audit.Span{Limit: int(asked.Limit)}
	if q.Has("cursor") {
		if span.Before, err = strconv.ParseInt(q.Get("cursor"), 10, 64); err != nil || span.Before < 1 {
			return fault.Parameter(
				"cursor",
				"is not a cursor of this list. Follow the next link of a page unchanged, or leave cursor out to "+
					"begin with the first page.",
			)
		}
	}
	list, more, err := a.Audit.History(r.Context(), p.ID, span)
	if err != nil {
		return err
	}
	names, err := a.Accounts.Names(r.Context(), audit.People(list))
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = strconv.FormatInt(list[len(list)-1].ID, 10)
	}
	wire.CursorHeaders(w, r, asked, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, func(e audit.Entry) entryAnswer {
		return entryAnswer{
			ID: e.ID, At: wire.Time(e.At), Action: e.Action, Text: e.Sentence(names),
			Actor: actorAnswer{Kind: e.Origin(), Name: names[e.Member()]},
		}
	}))
}
