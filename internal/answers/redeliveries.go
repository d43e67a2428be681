package answers

import (
	"net/http"
	"net/url"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/redelivery"
	"claviger/internal/wire"
)

// redeliveryAnswer is a job that resends many events.
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

func redeliveryOf(j redelivery.Job) redeliveryAnswer {
	f := j.Filter
	out := redeliveryAnswer{
		RedeliveryID: j.ID, Status: string(j.Status()), Stopped: j.Stopped, State: string(f.State),
		StatusCode: f.Codes.String(), LicenseKey: j.LicenseKey,
		From: wire.Time(f.From), To: wire.Time(f.To), Rate: j.Rate, Expected: j.Expected, Count: j.Count,
		Skipped:   j.Skipped,
		CreatedAt: wire.Time(j.CreatedAt), FinishedAt: wire.Time(j.FinishedAt),
	}
	if f.Kind != 0 {
		out.Event = event.Kind(f.Kind).String()
	}
	return out
}

// estimateAnswer is the estimate of a redelivery.
type estimateAnswer struct {
	Count   int   `json:"count"`
	More    bool  `json:"more"`
	Rate    int   `json:"rate"`
	Seconds int64 `json:"seconds"`
}

// PartnerEstimate answers with the number of events that a redelivery would send, and its duration.
func (c *Common) PartnerEstimate(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, append([]string{"rate"}, deliveryFilters...)...)
	if err != nil {
		return err
	}
	request, err := c.redeliveryRequest(r, partnerID, q)
	if err != nil {
		return err
	}
	plan, err := c.Redeliveries.Plan(r.Context(), request)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, estimateAnswer{plan.Count, plan.More, plan.Rate, int64(plan.Estimate.Seconds())})
}

// redeliveryRequest reads the selection to send.
func (c *Common) redeliveryRequest(r *http.Request, partnerID int64, q url.Values) (redelivery.Request, error) {
	request := redelivery.Request{PartnerID: partnerID, Rate: redelivery.DefaultRate}
	var err error
	if request.Filter, request.LicenseKey, err = c.deliveryFilter(r, partnerID, q.Get, q.Has); err != nil {
		return request, err
	}
	if q.Has("rate") {
		if request.Rate, err = strconv.Atoi(q.Get("rate")); err != nil || request.Rate < 1 {
			return request, fault.Parameter(
				"rate", "must be a whole number of events a second, from 1 to %d.", redelivery.MaxRate,
			)
		}
	}
	return request, nil
}

// PartnerRedeliver starts a redelivery.
func (c *Common) PartnerRedeliver(w http.ResponseWriter, r *http.Request, by audit.Actor, partnerID int64) error {
	var in struct {
		State      string `json:"state"`
		Event      string `json:"event"`
		StatusCode string `json:"status_code"`
		From       string `json:"from"`
		To         string `json:"to"`
		LicenseKey string `json:"license_key"`
		Rate       int    `json:"rate"`
	}
	if err := decode(w, r, &in); err != nil {
		return err
	}
	q := url.Values{}
	for name, value := range map[string]string{
		"state": in.State, "event": in.Event, "status_code": in.StatusCode, "from": in.From, "to": in.To,
		"license_key": in.LicenseKey,
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
	request, err := c.redeliveryRequest(r, partnerID, q)
	if err != nil {
		return err
	}
	j, err := c.Redeliveries.Begin(r.Context(), by, request)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, redeliveryOf(j))
}

// PartnerRedeliveries answers with the redeliveries of a partner, newest first.
func (c *Common) PartnerRedeliveries(w http.ResponseWriter, r *http.Request, partnerID int64) error {
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
	list, err := c.Redeliveries.List(r.Context(), partnerID, before, int(asked.Limit)+1)
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

// PartnerRedelivery answers with the progress of a redelivery.
func (c *Common) PartnerRedelivery(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	id, _ := wire.PathID(r, "redelivery_id")
	j, err := c.Redeliveries.Get(r.Context(), partnerID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, redeliveryOf(j))
}

// ActOnRedelivery pauses, resumes or cancels a redelivery.
func (c *Common) ActOnRedelivery(
	w http.ResponseWriter, r *http.Request, act string, by audit.Actor, partnerID int64,
) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	id, _ := wire.PathID(r, "redelivery_id")
	do := c.Redeliveries.Pause
	switch act {
	case "resume":
		do = c.Redeliveries.Resume
	case "cancel":
		do = c.Redeliveries.Cancel
	}
	j, err := do(r.Context(), by, partnerID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, redeliveryOf(j))
}

// maxBody is the maximum size of a body. Filters have a hundredth of it.
const maxBody = 64 << 10

func decode(w http.ResponseWriter, r *http.Request, dst any) error {
	_, err := wire.Decoder{Limit: maxBody}.Decode(w, r, dst)
	return err
}
