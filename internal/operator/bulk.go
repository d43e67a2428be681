package operator

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// bulkRoutes returns the routes of bulk acts. Preparing one is a preview; the handlers check the scope
// of the act.
func (o *Operator) bulkRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Read, "POST", "/bulk", o.prepareBulk),
		list("/bulk", o.listBulk),
		on(account.Read, "GET", "/bulk/{id}", o.getBulk),
		list("/bulk/{id}/rows", o.listBulkRows),
		on(account.Read, "POST", "/bulk/{id}/leave-out", o.chooseRows((*bulk.Store).LeaveOut)),
		on(account.Read, "POST", "/bulk/{id}/put-back", o.chooseRows((*bulk.Store).PutBack)),
		on(account.Read, "POST", "/bulk/{id}/start", o.onBulk((*bulk.Store).Start)),
		on(account.Read, "POST", "/bulk/{id}/pause", o.onBulk((*bulk.Store).Pause)),
		on(account.Read, "POST", "/bulk/{id}/resume", o.onBulk((*bulk.Store).Resume)),
		on(account.Read, "POST", "/bulk/{id}/cancel", o.onBulk((*bulk.Store).Cancel)),
	}
}

// bulkJSON is a bulk act on the wire.
type bulkJSON struct {
	BulkID     int64        `json:"bulk_id"`
	Act        string       `json:"act"`
	Kind       string       `json:"kind"`
	Reason     string       `json:"reason"`
	Selected   string       `json:"selected"`
	Status     string       `json:"status"`
	Stopped    string       `json:"stopped"`
	Counts     bulkCounts   `json:"rows"`
	Effects    []bulkEffect `json:"effects,omitempty"`
	CreatedAt  mayTime      `json:"created_at"`
	StartedAt  mayTime      `json:"started_at"`
	FinishedAt mayTime      `json:"finished_at"`
}

type bulkCounts struct {
	Total     int64 `json:"total"`
	Checked   int64 `json:"checked"`
	Skipped   int64 `json:"skipped"`
	Succeeded int64 `json:"succeeded"`
	Refused   int64 `json:"refused"`
	Failed    int64 `json:"failed"`
}

// bulkEffect is an effect and its number of rows.
type bulkEffect struct {
	Rows int64  `json:"rows"`
	Will string `json:"will"`
	Code string `json:"code"`
	Why  string `json:"why"`
}

func bulkOf(j bulk.Job) bulkJSON {
	return bulkJSON{
		BulkID: j.ID, Act: string(j.Act), Kind: string(j.Kind), Reason: j.Reason, Selected: j.Selected,
		Status: string(j.Status()), Stopped: j.Stopped,
		Counts: bulkCounts{
			Total: j.Total, Checked: j.Checked, Skipped: j.Skipped, Succeeded: j.Succeeded, Refused: j.Refused,
			Failed: j.Failed,
		},
		CreatedAt: mayTime(j.CreatedAt), StartedAt: mayTime(j.StartedAt), FinishedAt: mayTime(j.FinishedAt),
	}
}

// answerBulk answers with a job and its effects.
func (o *Operator) answerBulk(w http.ResponseWriter, r *http.Request, status int, j bulk.Job) error {
	effects, err := o.Bulk.Effects(r.Context(), j.ID)
	if err != nil {
		return err
	}
	out := bulkOf(j)
	out.Effects = make([]bulkEffect, len(effects))
	for i, e := range effects {
		out.Effects[i] = bulkEffect{Rows: e.Rows, Will: e.Will, Code: e.Code, Why: e.Why}
	}
	return wire.JSON(w, status, out)
}

// bulkBody is an act and the selected rows.
type bulkBody struct {
	Act    string     `json:"act"`
	Kind   string     `json:"kind"`
	Reason string     `json:"reason"`
	Filter bulkFilter `json:"filter"`
}

// bulkFilter is a selection; its valid members depend on the kind.
type bulkFilter struct {
	PartnerID  int64  `json:"partner_id"`
	Name       string `json:"name"`
	LicenseKey string `json:"license_key"`
	Email      string `json:"email"`
	ExternalID string `json:"external_id"`
	Status     string `json:"status"`
	Tier       int    `json:"tier"`
	State      string `json:"state"`
	Event      string `json:"event"`
	EventID    int64  `json:"event_id"`
	StatusCode string `json:"status_code"`
	From       string `json:"from"`
	To         string `json:"to"`
}

// bulkFilters are the valid members of each kind.
var bulkFilters = map[bulk.Kind][]string{
	bulk.Licenses:  {"partner_id", "license_key", "email", "external_id", "status", "tier", "from", "to"},
	bulk.Purchases: {"partner_id", "external_id", "email", "from", "to"},
	bulk.Events:    {"partner_id", "license_key", "state", "event", "event_id", "status_code", "from", "to"},
	bulk.Partners:  {"partner_id", "name", "state"},
}

// values returns the set members as a query. A member that is not valid for the kind is refused:
// ignoring it would select more than intended.
func (f bulkFilter) values(k bulk.Kind) (url.Values, error) {
	q := url.Values{}
	for name, value := range map[string]string{
		"name": f.Name, "license_key": f.LicenseKey, "email": f.Email, "external_id": f.ExternalID, "status": f.Status,
		"state": f.State, "event": f.Event, "status_code": f.StatusCode, "from": f.From, "to": f.To,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.PartnerID != 0 {
		q.Set("partner_id", strconv.FormatInt(f.PartnerID, 10))
	}
	if f.EventID != 0 {
		q.Set("event_id", strconv.FormatInt(f.EventID, 10))
	}
	if f.Tier != 0 {
		q.Set("tier", strconv.Itoa(f.Tier))
	}
	for name := range q {
		if !slices.Contains(bulkFilters[k], name) {
			return nil, fault.Field("filter."+name, "is no filter of %s. There are: %s.", k,
				strings.Join(bulkFilters[k], ", "))
		}
	}
	return q, nil
}

func (o *Operator) prepareBulk(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b bulkBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	order := bulk.Order{Act: bulk.Act(b.Act), Kind: bulk.Kind(b.Kind)}
	var err error
	if order.Reason, err = text("reason", b.Reason); err != nil {
		return err
	}
	if err := order.Check(); err != nil {
		return err
	}
	if err := may(order.Act.Scope())(t); err != nil {
		return err
	}
	q, err := b.Filter.values(order.Kind)
	if err != nil {
		return err
	}
	if order.Select, err = o.selection(r.Context(), order.Kind, q); err != nil {
		return asMember(err)
	}
	if order.Act == bulk.Reverse {
		order.Select = bulk.OfRefunds(o.Licenses, order.Kind, order.Select)
	}
	order.Selected = q.Encode()
	j, err := o.Bulk.Prepare(r.Context(), actor(t), order)
	if err != nil {
		return asMember(err)
	}
	return o.answerBulk(w, r, http.StatusCreated, j)
}

// asMember turns the fault of a query parameter into one of a member of the filter.
func asMember(err error) error {
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Invalid || f.Field == "" || f.Field == "reason" ||
		strings.HasPrefix(f.Field, "filter.") {
		return err
	}
	return fault.New(fault.Invalid, f.Code, "%s", f.Text).On("filter." + f.Field)
}

// selection returns the rows that match a filter.
func (o *Operator) selection(ctx context.Context, k bulk.Kind, q url.Values) (bulk.Selection, error) {
	f, err := o.Exports.LicenseFilter(ctx, q) // partner, owner, external id and times are parsed the same way for all
	if err != nil {
		return nil, err
	}
	switch k {
	case bulk.Licenses:
		return bulk.OfLicenses(o.Licenses, f), nil
	case bulk.Purchases:
		return bulk.OfSales(o.Licenses, license.FindSales{
			PartnerID: f.PartnerID, Users: f.Owners, ExternalID: f.ExternalID, From: f.From, To: f.To,
		}), nil
	case bulk.Partners:
		return o.partnersIn(ctx, f.PartnerID, q)
	case bulk.Events, bulk.Refunds:
	}
	return o.events(ctx, f, q)
}

// events selects events by their deliveries.
func (o *Operator) events(ctx context.Context, of license.FindAny, q url.Values) (bulk.Selection, error) {
	f := history.Filter{State: history.State(q.Get("state")), From: of.From, To: of.To}
	if f.State != "" && !f.State.Known() {
		return nil, fault.Parameter("state", "must be one of %s.", statesOf(history.States))
	}
	kind, err := event.ParseKind(q.Get("event"))
	f.Kind = int(kind)
	if err != nil {
		return nil, err
	}
	if f.EventID, err = naturalParam(q, "event_id", 1); err != nil {
		return nil, err
	}
	if s := q.Get("status_code"); s != "" {
		var ok bool
		if f.Codes, ok = history.ParseCodes(s); !ok {
			return nil, fault.Parameter("status_code",
				"must be a status such as 404, a class such as 4xx, or none for no answer.")
		}
	}
	if key := q.Get("license_key"); key != "" {
		l, err := o.Licenses.ByKey(ctx, key)
		if err != nil {
			return nil, err
		}
		f.LicenseID, of.PartnerID = l.ID, l.PartnerID
	}
	return bulk.OfDeliveries(o.Exports.History, of.PartnerID, f), nil
}

// partnersIn selects partners by name and by the health of their endpoints.
func (o *Operator) partnersIn(ctx context.Context, id int64, q url.Values) (bulk.Selection, error) {
	named, state := bulk.NamedLike(q.Get("name")), webhook.EndpointState(q.Get("state"))
	if state != "" && !slices.Contains(webhook.EndpointStates, state) {
		return nil, fault.Parameter("state", "must be one of %s.", statesOf(webhook.EndpointStates))
	}
	var in map[int64]bool
	if state != "" {
		var err error
		if in, err = o.Webhooks.InState(ctx, o.Partners, o.Profiles, state); err != nil {
			return nil, err
		}
	}
	return bulk.OfPartners(o.Partners, func(p partner.Partner) bool {
		return (id == 0 || p.ID == id) && named(p) && (state == "" || in[p.ID])
	}), nil
}

func statesOf[S ~string](list []S) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func (o *Operator) listBulk(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "cursor", "page", "limit")
	if err != nil {
		return err
	}
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	list, err := o.Bulk.List(r.Context(), before, int(p.Limit)+1)
	if err != nil {
		return err
	}
	list, next := cut(list, p, func(j bulk.Job) int64 { return j.ID })
	cursorAnswer(w, r, p, next, time.Time{})
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, bulkOf))
}

// cut drops the extra row that a page was read with, and returns the start of the next, or 0.
func cut[T any](list []T, p paging.Page, at func(T) int64) ([]T, int64) {
	if int64(len(list)) <= p.Limit {
		return list, 0
	}
	list = list[:p.Limit]
	return list, at(list[p.Limit-1])
}

func (o *Operator) getBulk(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	j, err := o.Bulk.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return o.answerBulk(w, r, http.StatusOK, j)
}

// bulkFor returns the job of the path if the token has the scope of its act.
func (o *Operator) bulkFor(r *http.Request, t account.Token) (j bulk.Job, err error) {
	if j, err = o.Bulk.Get(r.Context(), pathID(r)); err == nil {
		err = may(j.Act.Scope())(t)
	}
	return j, err
}

// onBulk returns the handler that confirms, pauses, resumes or cancels a job.
func (o *Operator) onBulk(
	do func(*bulk.Store, context.Context, audit.Actor, int64) (bulk.Job, error),
) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, t account.Token) error {
		if err := noMembers(w, r); err != nil {
			return err
		}
		j, err := o.bulkFor(r, t)
		if err != nil {
			return err
		}
		if j, err = do(o.Bulk, r.Context(), actor(t), j.ID); err != nil {
			return err
		}
		return o.answerBulk(w, r, http.StatusOK, j)
	}
}
