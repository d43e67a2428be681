package api

import (
	"net/http"
	"net/url"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/replay"
	"claviger/internal/wire"
)

// redeliveryAnswer is a job that sends many events again.
type redeliveryAnswer struct {
	RedeliveryID int64     `json:"redelivery_id"`
	Status       string    `json:"status"`
	Stopped      string    `json:"stopped,omitempty"`
	State        string    `json:"state,omitempty"`
	Event        string    `json:"event,omitempty"`
	StatusCode   string    `json:"status_code,omitempty"`
	LicenseKey   string    `json:"license_key,omitempty"`
	From         wire.Time `json:"from,omitzero"`
	To           wire.Time `json:"to"`
	Rate         int       `json:"rate"`
	Expected     int64     `json:"expected"`
	Count        int64     `json:"count"`
	Skipped      int64     `json:"skipped"`
	CreatedAt    wire.Time `json:"created_at"`
	FinishedAt   wire.Time `json:"finished_at,omitzero"`
}

func redeliveryOf(j replay.Job) redeliveryAnswer {
	f := j.Filter
	out := redeliveryAnswer{
		RedeliveryID: j.ID, Status: string(j.Status()), Stopped: j.Stopped, State: string(f.State), StatusCode: f.Codes.String(), LicenseKey: j.LicenseKey,
		From: wire.Time(f.From), To: wire.Time(f.To), Rate: j.Rate, Expected: j.Expected, Count: j.Count, Skipped: j.Skipped,
		CreatedAt: wire.Time(j.CreatedAt), FinishedAt: wire.Time(j.FinishedAt),
	}
	if f.Kind != 0 {
		out.Event = event.Kind(f.Kind).String()
	}
	return out
}

// estimateAnswer is what a redelivery would do.
type estimateAnswer struct {
	Count   int   `json:"count"`
	More    bool  `json:"more"`
	Rate    int   `json:"rate"`
	Seconds int64 `json:"seconds"`
}

func (a *API) estimateRedelivery(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.PartnerEstimate(w, r, p.ID)
}

// PartnerEstimate answers how many events a redelivery would send and how long it would
// take, for whoever asks.
func (a *API) PartnerEstimate(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, append([]string{"rate"}, deliveryFilters...)...)
	if err != nil {
		return err
	}
	request, err := a.redeliveryRequest(r, partnerID, q)
	if err != nil {
		return err
	}
	plan, err := a.Replays.Plan(r.Context(), request)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, estimateAnswer{plan.Count, plan.More, plan.Rate, int64(plan.Estimate.Seconds())})
}

// redeliveryRequest reads what is to be sent.
func (a *API) redeliveryRequest(r *http.Request, partnerID int64, q url.Values) (replay.Request, error) {
	request := replay.Request{PartnerID: partnerID, Rate: replay.DefaultRate}
	var err error
	if request.Filter, request.LicenseKey, err = a.deliveryFilter(r, partnerID, q.Get, q.Has); err != nil {
		return request, err
	}
	if q.Has("rate") {
		if request.Rate, err = strconv.Atoi(q.Get("rate")); err != nil || request.Rate < 1 {
			return request, fault.Parameter("rate", "must be a whole number of events a second, from 1 to %d.", replay.MaxRate)
		}
	}
	return request, nil
}

func (a *API) beginRedelivery(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	if err := a.throttle(p); err != nil {
		return err
	}
	return a.PartnerRedeliver(w, r, actor(p), p.ID)
}

// PartnerRedeliver begins a redelivery, for whoever asks.
func (a *API) PartnerRedeliver(w http.ResponseWriter, r *http.Request, by audit.Actor, partnerID int64) error {
	var in struct {
		State      string `json:"state"`
		Event      string `json:"event"`
		StatusCode string `json:"status_code"`
		From       string `json:"from"`
		To         string `json:"to"`
		LicenseKey string `json:"license_key"`
		Rate       int    `json:"rate"`
	}
	if err := decode(w, r, &in, nil); err != nil {
		return err
	}
	q := url.Values{}
	for name, value := range map[string]string{
		"state": in.State, "event": in.Event, "status_code": in.StatusCode, "from": in.From, "to": in.To, "license_key": in.LicenseKey,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if in.Rate != 0 {
		q.Set("rate", strconv.Itoa(in.Rate))
	}
	if len(q) == 0 {
		return fault.Field("state", "or from is missing; say which events are sent again.")
	}
	request, err := a.redeliveryRequest(r, partnerID, q)
	if err != nil {
		return err
	}
	j, err := a.Replays.Begin(r.Context(), by, request)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, redeliveryOf(j))
}

func (a *API) listRedeliveries(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.PartnerRedeliveries(w, r, p.ID)
}

// PartnerRedeliveries answers the redeliveries of a partner, newest first, for whoever
// asks.
func (a *API) PartnerRedeliveries(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, "cursor", "page", "limit")
	if err != nil {
		return err
	}
	asked, err := cursorPage(q)
	if err != nil {
		return err
	}
	before := int64(0)
	if q.Has("cursor") {
		if before, err = strconv.ParseInt(q.Get("cursor"), 10, 64); err != nil || before < 1 {
			return errCursor()
		}
	}
	list, err := a.Replays.List(r.Context(), partnerID, before, int(asked.Limit)+1)
	if err != nil {
		return err
	}
	next := ""
	if int64(len(list)) > asked.Limit {
		list = list[:asked.Limit]
		next = strconv.FormatInt(list[asked.Limit-1].ID, 10)
	}
	wire.CursorHeaders(w, r, asked, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, redeliveryOf))
}

func (a *API) readRedelivery(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.PartnerRedelivery(w, r, p.ID)
}

// PartnerRedelivery answers how far a redelivery is, for whoever asks.
func (a *API) PartnerRedelivery(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	id, _ := wire.PathID(r, "redelivery_id")
	j, err := a.Replays.Get(r.Context(), partnerID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, redeliveryOf(j))
}

// ActOnRedelivery pauses, resumes or cancels a redelivery, for whoever asks.
func (a *API) ActOnRedelivery(w http.ResponseWriter, r *http.Request, act string, by audit.Actor, partnerID int64) error {
	if err := decode(w, r, &struct{}{}, nil); err != nil {
		return err
	}
	id, _ := wire.PathID(r, "redelivery_id")
	do := a.Replays.Pause
	switch act {
	case "resume":
		do = a.Replays.Resume
	case "cancel":
		do = a.Replays.Cancel
	}
	j, err := do(r.Context(), by, partnerID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, redeliveryOf(j))
}

// onRedelivery is the handler of an act.
func (a *API) onRedelivery(act string) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
		return a.ActOnRedelivery(w, r, act, actor(p), p.ID)
	}
}
