package operator

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// outageJSON is a failing endpoint on the wire.
type outageJSON struct {
	PartnerID    int64     `json:"partner_id"`
	Partner      string    `json:"partner"`
	State        string    `json:"state"`
	FailingSince wire.Time `json:"failing_since"`
	ParkedAt     mayTime   `json:"parked_at"`
	ProbeAt      mayTime   `json:"probe_at"`
	Waiting      int64     `json:"waiting"`
	WaitingMore  bool      `json:"waiting_more"`
	LastError    string    `json:"last_error"`
}

// pageOf reads a list's query: its own parameters, cursor and limit. The link to the first page has
// page=1.
func pageOf(r *http.Request, names ...string) (url.Values, paging.Page, error) {
	q, err := wire.Query(r, append(names, "cursor", "page", "limit")...)
	if err != nil {
		return nil, paging.Page{}, err
	}
	p, err := paging.Parse(q)
	if err == nil && p.Number > 1 {
		err = fault.Parameter("page", "has no number here beyond 1. Follow the next link of a page unchanged.")
	}
	return q, p, err
}

// listOutages lists the failing endpoints, longest failure first.
func (o *Operator) listOutages(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, p, err := pageOf(r, "state")
	if err != nil {
		return err
	}
	which := history.Endpoints(q.Get("state"))
	if q.Has("state") && which != history.OnlyParked && which != history.NotParked {
		return fault.Parameter("state", "must be parked or failing.")
	}
	after, ok := history.ParseKey(q.Get("cursor"))
	if !ok {
		return badCursor()
	}
	var list []history.Trouble
	var partners map[int64]partner.Partner
	next := ""
	err = o.Service.DB.Read(r.Context(), func(tx *sqldb.Tx) (err error) { //nolint:contextcheck // it has the request
		if list, err = history.FailingEndpoints(r.Context(), tx, which, after, int(p.Limit)+1); err != nil {
			return err
		}
		next = ""
		if int64(len(list)) > p.Limit {
			list = list[:p.Limit]
			next = list[p.Limit-1].Key().String()
		}
		if err = history.CountWaiting(r.Context(), tx, list); err != nil {
			return err
		}
		ids := make([]int64, len(list))
		for i, t := range list {
			ids[i] = t.PartnerID
		}
		partners, err = partner.ByID(r.Context(), tx, ids)
		return err
	})
	if err != nil {
		return err
	}
	wire.CursorHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, func(t history.Trouble) outageJSON {
		out := outageJSON{
			PartnerID: t.PartnerID, Partner: partners[t.PartnerID].Name, State: "failing",
			FailingSince: wire.Time(t.FailingSince), Waiting: t.Waiting, WaitingMore: t.More, LastError: t.LastError,
		}
		if !t.ParkedAt.IsZero() {
			out.State, out.ParkedAt, out.ProbeAt = "parked", mayTime(t.ParkedAt), mayTime(t.ProbeAt)
		}
		return out
	}))
}

// tryEndpoint makes the service retry a failing endpoint immediately. It counts as a URL check.
func (o *Operator) tryEndpoint(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	f, _, err := o.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	if err := o.Webhooks.TryNow(r.Context(), actor(t), p.ID); err != nil {
		return err
	}
	health, err := o.Webhooks.EndpointHealth(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, endpointOf(p, f, health))
}

// mailJSON is a failed email on the wire, without its text.
type mailJSON struct {
	ID        int64     `json:"id"`
	State     string    `json:"state"`
	To        string    `json:"to"`
	Subject   string    `json:"subject"`
	Attempts  int       `json:"attempts"`
	NextAt    mayTime   `json:"next_at"`
	Error     string    `json:"error"`
	CanSend   bool      `json:"can_send"`
	CreatedAt wire.Time `json:"created_at"`
}

func mailOf(m mail.Failed) mailJSON {
	out := mailJSON{
		ID: m.ID, State: "waiting", To: m.To, Subject: m.Subject, Attempts: m.Attempts,
		NextAt: mayTime(m.DueAt), Error: m.Error, CanSend: m.Again, CreatedAt: wire.Time(m.CreatedAt),
	}
	if m.State != mail.Waiting {
		out.State, out.NextAt = "given_up", mayTime(time.Time{})
	}
	if m.State == mail.Dismissed {
		out.State = "dismissed"
	}
	return out
}

// listMails lists the failed emails.
func (o *Operator) listMails(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, p, err := pageOf(r, "state")
	if err != nil {
		return err
	}
	before, err := numberOf(q.Get("cursor"))
	if err != nil {
		return err
	}
	var list []mail.Failed
	switch state := q.Get("state"); {
	case state == "waiting" && before == 0:
		list, err = mail.ListRetried(r.Context(), o.Service.DB, int(p.Limit))
	case state == "waiting":
		err = badCursor()
	case state == "given_up" || !q.Has("state"):
		list, err = mail.ListGivenUp(r.Context(), o.Service.DB, before, int(p.Limit)+1)
	default:
		err = fault.Parameter("state", "must be given_up or waiting.")
	}
	if err != nil {
		return err
	}
	next := ""
	if int64(len(list)) > p.Limit {
		list = list[:p.Limit]
		next = strconv.FormatInt(list[p.Limit-1].ID, 10)
	}
	wire.CursorHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, mailOf))
}

func (o *Operator) sendMail(w http.ResponseWriter, r *http.Request, t account.Token) error {
	return o.onMail(w, r, t, o.Service.Mail.SendAgain)
}

func (o *Operator) dismissMail(w http.ResponseWriter, r *http.Request, t account.Token) error {
	return o.onMail(w, r, t, o.Service.Mail.Dismiss)
}

// onMail acts on a failed email.
func (o *Operator) onMail(w http.ResponseWriter, r *http.Request, t account.Token,
	act func(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error,
) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	if err := act(r.Context(), o.Service.DB, actor(t), pathID(r), o.Accounts.Now()); err != nil {
		return err
	}
	m, err := mail.Get(r.Context(), o.Service.DB, pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, mailOf(m))
}
