package answers

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// deliveryAnswer is a delivery on the wire.
type deliveryAnswer struct {
	EventID       int64     `json:"event_id"`
	LicenseKey    string    `json:"license_key"`
	Event         string    `json:"event"`
	State         string    `json:"state"`
	StatusCode    int       `json:"status_code"`
	Cause         string    `json:"cause"`
	Attempts      int       `json:"attempts"`
	DurationMS    int64     `json:"duration_ms"`
	CreatedAt     wire.Time `json:"created_at"`
	LastAttemptAt wire.Time `json:"last_attempt_at,omitzero"`
	NextAttemptAt wire.Time `json:"next_attempt_at,omitzero"`
}

func deliveryOf(d history.Delivery) deliveryAnswer {
	return deliveryAnswer{
		EventID: d.EventID, LicenseKey: d.LicenseKey, Event: event.Kind(d.Kind).String(), State: string(d.State),
		StatusCode: d.Last.Status, Cause: d.Last.Words(), Attempts: d.Attempts, DurationMS: d.Last.Took.Milliseconds(),
		CreatedAt: wire.Time(d.CreatedAt), LastAttemptAt: wire.Time(d.Last.At), NextAttemptAt: wire.Time(d.NextAt),
	}
}

// deliveryFilters are the parameters that filter deliveries.
var deliveryFilters = []string{"state", "event", "status_code", "from", "to", "event_id", "license_key"}

// PartnerDeliveries answers with the deliveries of a partner.
func (c *Common) PartnerDeliveries(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, append([]string{"cursor", "page", "limit"}, deliveryFilters...)...)
	if err != nil {
		return err
	}
	asked, err := cursorPage(q)
	if err != nil {
		return err
	}
	after, ok := history.ParseKey(q.Get("cursor"))
	if !ok {
		return errCursor()
	}
	filter, _, err := c.deliveryFilter(r, partnerID, q.Get, q.Has)
	if err != nil {
		return err
	}
	list, err := c.History.List(r.Context(), partnerID, filter, after, int(asked.Limit))
	if err != nil {
		return err
	}
	wire.CursorHeaders(w, r, asked, list.Next.String())
	searchedTo(w, list.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list.Deliveries, deliveryOf))
}

// ofPartnerAnswer is a delivery of any partner.
type ofPartnerAnswer struct {
	PartnerID int64 `json:"partner_id"`
	deliveryAnswer
}

// AllDeliveries answers with the deliveries of all partners, or of one.
func (c *Common) AllDeliveries(w http.ResponseWriter, r *http.Request) error {
	q, err := wire.Query(r, append([]string{"cursor", "page", "limit", "partner_id"}, deliveryFilters...)...)
	if err != nil {
		return err
	}
	asked, err := cursorPage(q)
	if err != nil {
		return err
	}
	after, ok := history.ParseKey(q.Get("cursor"))
	if !ok {
		return errCursor()
	}
	partnerID, err := strconv.ParseInt(q.Get("partner_id"), 10, 64)
	if q.Has("partner_id") && (err != nil || partnerID < 1) {
		return fault.Parameter("partner_id", "must be the id of a partner, such as 1.")
	}
	find := c.Licenses.ByKey
	if partnerID != 0 {
		find = func(ctx context.Context, key string) (license.License, error) {
			return c.Licenses.OfPartner(ctx, partnerID, key)
		}
	}
	filter, l, err := c.readFilter(r, q.Get, q.Has, find)
	if err != nil {
		return err
	}
	if l.ID != 0 {
		partnerID = l.PartnerID
	}
	list, err := c.History.ListAll(r.Context(), partnerID, filter, after, int(asked.Limit))
	if err != nil {
		return err
	}
	wire.CursorHeaders(w, r, asked, list.Next.String())
	searchedTo(w, list.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list.Deliveries, func(d history.OfPartner) ofPartnerAnswer {
		return ofPartnerAnswer{d.PartnerID, deliveryOf(d.Delivery)}
	}))
}

// searchedTo sets a header if a search ended before the page was full.
func searchedTo(w http.ResponseWriter, at time.Time) {
	if !at.IsZero() {
		w.Header().Set("X-Searched-To", string(wire.AppendTime(nil, at)))
	}
}

// cursorPage reads the limit of a list with cursors.
func cursorPage(q url.Values) (paging.Page, error) {
	asked, err := paging.Parse(q)
	if err == nil && asked.Number > 1 {
		err = fault.Parameter("page", "has no number here beyond 1. Follow the next link of a page unchanged.")
	}
	return asked, err
}

func errCursor() error {
	return fault.Parameter(
		"cursor",
		"is not a cursor of this list. Follow the next link of a page unchanged, or leave cursor out to begin with "+
			"the first page.",
	)
}

// deliveryFilter reads the filters of a query or a body. A license of another partner matches
// nothing.
func (c *Common) deliveryFilter(
	r *http.Request, partnerID int64, get func(string) string, has func(string) bool,
) (f history.Filter, key string, err error) {
	f, _, err = c.readFilter(r, get, has, func(ctx context.Context, key string) (license.License, error) {
		return c.Licenses.OfPartner(ctx, partnerID, key)
	})
	return f, get("license_key"), err
}

// findLicense finds a license by its key.
type findLicense = func(ctx context.Context, key string) (license.License, error)

// notTime is the fault of a parameter that is no time.
func notTime(name string) error {
	return fault.Parameter(name, "must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset "+
		"is written %%2B.")
}

// readFilter reads the filters of deliveries. A missing license matches nothing.
func (c *Common) readFilter(
	r *http.Request, get func(string) string, has func(string) bool, find findLicense,
) (f history.Filter, l license.License, err error) {
	for _, name := range deliveryFilters {
		if has(name) && get(name) == "" {
			return f, l, fault.Parameter(name, "is empty; give it a value, or leave it out.")
		}
	}
	if f.State = history.State(get("state")); f.State != "" && !f.State.Known() {
		return f, l, fault.Parameter(
			"state",
			"must be delivered, waiting, failing, exhausted, superseded, or failed for the last three.",
		)
	}
	kind, err := event.ParseKind(get("event"))
	if err != nil {
		return f, l, err
	}
	f.Kind = int(kind)
	if s := get("status_code"); s != "" {
		var ok bool
		if f.Codes, ok = history.ParseCodes(s); !ok {
			return f, l, fault.Parameter(
				"status_code",
				"must be a status such as 404, a class such as 4xx, none for attempts without an answer, or why "+
					"there was none: %s.",
				diagnose.CauseList(),
			)
		}
	}
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if s := get(name); s != "" {
			at, err := wire.ParseTime(s)
			if err != nil {
				return f, l, notTime(name)
			}
			*to = Storable(at)
		}
	}
	if s := get("event_id"); s != "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "evt_"), 10, 64)
		if err != nil || n < 1 {
			return f, l, fault.Parameter("event_id", "must be an event_id such as 42, or a webhook-id such as evt_42.")
		}
		f.EventID = n
	}
	if key := get("license_key"); key != "" {
		l, err = find(r.Context(), key)
		switch f.LicenseID = l.ID; {
		case fault.Is(err, license.CodeUnknownLicense):
			f.LicenseID = -1
		case err != nil:
			return f, l, err
		}
	}
	return f, l, nil
}

// attemptAnswer is an attempt in short.
type attemptAnswer struct {
	AttemptID  int64         `json:"attempt_id"`
	Number     int           `json:"number"`
	At         wire.Time     `json:"at"`
	StatusCode int           `json:"status_code"`
	Success    bool          `json:"success"`
	Cause      string        `json:"cause"`
	Diagnosis  string        `json:"diagnosis,omitempty"`
	DurationMS int64         `json:"duration_ms"`
	Manual     *manualAnswer `json:"manual,omitempty"`
}

// manualAnswer is the sender of a manual send.
type manualAnswer struct {
	By           string    `json:"by"`
	UserID       int64     `json:"user_id,omitempty"`
	RedeliveryID int64     `json:"redelivery_id,omitempty"`
	InsteadOf    wire.Time `json:"instead_of,omitzero"`
}

func manualOf(m history.Manual) *manualAnswer {
	if m.IsZero() {
		return nil
	}
	out := &manualAnswer{By: m.By.Kind, RedeliveryID: m.JobID, InsteadOf: wire.Time(m.ScheduledAt)}
	if m.By.Kind == audit.ByUser {
		out.UserID = m.By.ID // 0, which is omitted, for people of the marketplace
	}
	return out
}

func attemptOf(t history.Try) attemptAnswer {
	return attemptAnswer{
		AttemptID: t.ID, Number: t.Number, At: wire.Time(t.At), StatusCode: t.Status, Success: t.Success,
		Cause:     t.Words(),
		Diagnosis: t.Diagnosis, DurationMS: t.Took.Milliseconds(), Manual: manualOf(t.Manual),
	}
}

// detailAnswer is a delivery with its attempts.
type detailAnswer struct {
	deliveryAnswer
	RequestBody string                       `json:"request_body"`
	WaitsFor    int64                        `json:"waits_for,omitempty"`
	Manual      *manualAnswer                `json:"manual,omitempty"`
	Tries       wire.Envelope[attemptAnswer] `json:"attempt_list"`
}

// OwnDelivery answers with a delivery and its attempts, for the partner.
func (c *Common) OwnDelivery(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	return c.answerDelivery(w, r, partnerID, c.teamOnly)
}

// PartnerDelivery answers with a delivery and its attempts, for the marketplace.
func (c *Common) PartnerDelivery(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	return c.answerDelivery(w, r, partnerID, everybody)
}

func (c *Common) answerDelivery(w http.ResponseWriter, r *http.Request, partnerID int64, seen senders) error {
	id, _ := wire.PathID(r, "event_id") // 0 if not a number; no event has it
	d, err := c.History.Delivery(r.Context(), partnerID, id)
	if err != nil {
		return err
	}
	if err := seen(r.Context(), partnerID, &d, nil); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, detailAnswer{
		deliveryAnswer: deliveryOf(d.Delivery), RequestBody: d.Body, WaitsFor: d.Earlier,
		Manual: manualOf(d.Manual), Tries: wire.ListOf(d.Tries, attemptOf),
	})
}

// exchangeAnswer is an attempt with its whole request and response.
type exchangeAnswer struct {
	attemptAnswer
	EventID       int64         `json:"event_id"`
	URL           string        `json:"url"`
	RequestHeader string        `json:"request_header"`
	RequestBody   string        `json:"request_body"`
	SignedText    string        `json:"signed_text"`
	BrandText     string        `json:"brand_signed_text"`
	ResponseBody  string        `json:"response_body"`
	Timing        *timingAnswer `json:"timing,omitempty"`
}

// timingAnswer is the duration of each part of an attempt, in microseconds.
type timingAnswer struct {
	DNS       int64 `json:"dns_us"`
	Connect   int64 `json:"connect_us"`
	TLS       int64 `json:"tls_us"`
	FirstByte int64 `json:"first_byte_us"`
	Reused    bool  `json:"reused"`
}

// OwnAttempt answers with an attempt, its request and response, for the partner.
func (c *Common) OwnAttempt(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	return c.answerAttempt(w, r, partnerID, c.teamOnly)
}

// PartnerAttempt answers with an attempt, its request and response, for the marketplace.
func (c *Common) PartnerAttempt(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	return c.answerAttempt(w, r, partnerID, everybody)
}

func (c *Common) answerAttempt(w http.ResponseWriter, r *http.Request, partnerID int64, seen senders) error {
	id, _ := wire.PathID(r, "event_id")
	attempt, ok := wire.PathID(r, "attempt_id")
	if !ok {
		attempt = -1 // no event has it
	}
	d, e, err := c.History.Exchange(r.Context(), partnerID, id, attempt)
	if err != nil {
		return err
	}
	if err := seen(r.Context(), partnerID, &d, &e); err != nil {
		return err
	}
	signed := diagnose.SignedTexts(e.RequestHeader, d.Body)
	out := exchangeAnswer{
		attemptAnswer: attemptOf(e.Try), EventID: d.EventID, URL: e.URL, RequestHeader: e.RequestHeader,
		RequestBody: d.Body,
		SignedText:  signed.Standard, BrandText: signed.Brand, ResponseBody: e.ResponseBody,
	}
	if e.Measured {
		t := e.Timing
		out.Timing = &timingAnswer{
			t.DNS.Microseconds(), t.Connect.Microseconds(), t.TLS.Microseconds(), t.FirstByte.Microseconds(),
			t.Reused,
		}
	}
	return wire.JSON(w, http.StatusOK, out)
}
