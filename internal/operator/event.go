package operator

import (
	"net/http"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/redelivery"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// eventJSON is an event on the wire.
type eventJSON struct {
	EventID        int64        `json:"event_id"`
	PartnerID      int64        `json:"partner_id"`
	LicenseKey     string       `json:"license_key"`
	Event          string       `json:"event"`
	LicenseStatus  string       `json:"license_status"`
	Tier           int          `json:"tier"`
	PreviousTier   int          `json:"previous_tier,omitzero"`
	Reason         event.Reason `json:"reason"`
	EventTimestamp int64        `json:"event_timestamp"`
	CreatedAt      wire.Time    `json:"created_at"`
}

func eventOf(e event.Event) eventJSON {
	return eventJSON{
		EventID: e.ID, PartnerID: e.PartnerID, LicenseKey: e.LicenseKey, Event: e.Kind.String(),
		LicenseStatus: e.Kind.Status().String(), Tier: e.Tier, PreviousTier: e.PreviousTier, Reason: e.Reason,
		EventTimestamp: e.At.UnixMilli(), CreatedAt: wire.Time(e.CreatedAt),
	}
}

func (o *Operator) feed(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "after", "limit")
	if err != nil {
		return err
	}
	after, err := naturalParam(q, "after", 0)
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	list, more, err := o.Events.Feed(r.Context(), after, int(p.Limit))
	if err != nil {
		return err
	}
	if more {
		last := list[len(list)-1].ID
		w.Header().Set(
			"Link",
			"<"+r.URL.Path+"?after="+strconv.FormatInt(last, 10)+"&limit="+strconv.FormatInt(p.Limit, 10)+
				`>; rel="next"`,
		)
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, eventOf))
}

// redeliveryJSON names the queued event.
type redeliveryJSON struct {
	EventID int64 `json:"event_id"`
}

func (o *Operator) redeliver(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	const anyPartner = 0
	if err := o.Webhooks.Redeliver(r.Context(), actor(t), anyPartner, pathID(r)); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, redeliveryJSON{pathID(r)})
}

// spanBody selects events to redeliver.
type spanBody struct {
	From       wire.Time `json:"from"`
	To         wire.Time `json:"to"`
	OnlyFailed bool      `json:"only_failed"`
}

// span returns the start and the exclusive end of the selected time; until is the end if the body
// has none.
func (b spanBody) span(until time.Time) (from, to time.Time, err error) {
	from, to = time.Time(b.From), time.Time(b.To)
	if to.IsZero() {
		to = until
	}
	switch {
	case from.IsZero():
		err = fault.Field("from", "is missing; send the time of the first event, such as 2026-03-01T00:00:00Z.")
	case !from.Before(to):
		err = fault.Field("to", "must be after from.")
	}
	return from, to, err
}

// redeliveryJobJSON is the redelivery of a span of events.
type redeliveryJobJSON struct {
	RedeliveryID int64     `json:"redelivery_id"`
	PartnerID    int64     `json:"partner_id"`
	From         wire.Time `json:"from"`
	To           wire.Time `json:"to"`
	OnlyFailed   bool      `json:"only_failed"`
	Status       string    `json:"status"`
	Count        int64     `json:"count"`
	Skipped      int64     `json:"skipped"`
	CreatedAt    wire.Time `json:"created_at"`
	FinishedAt   wire.Time `json:"finished_at,omitzero"`
}

func redeliveryOf(j redelivery.Job) redeliveryJobJSON {
	return redeliveryJobJSON{
		RedeliveryID: j.ID, PartnerID: j.PartnerID, From: wire.Time(j.Filter.From), To: wire.Time(j.Filter.To),
		OnlyFailed: j.Filter.OnlyFailures(),
		Status:     string(j.Status()), Count: j.Count, Skipped: j.Skipped, CreatedAt: wire.Time(j.CreatedAt),
		FinishedAt: wire.Time(j.FinishedAt),
	}
}

// lastRedelivery shows the progress of the partner's newest redelivery of a span.
func (o *Operator) lastRedelivery(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	last, err := o.Redeliveries.Last(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, redeliveryOf(last))
}

func (o *Operator) redeliverSpan(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b spanBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	from, to, err := b.span(o.Webhooks.Now())
	if err != nil {
		return err
	}
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	which := history.Filter{From: from, To: to}
	if b.OnlyFailed {
		which.State = history.Failed
	}
	job, err := o.Redeliveries.Begin(r.Context(), actor(t), redelivery.Request{PartnerID: p.ID, Filter: which})
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, redeliveryOf(job))
}
