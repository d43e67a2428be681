package portal

import (
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/redelivery"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const redeliverPath = "/recover"

// redeliveries returns the pages about one redelivery.
func (h *Handler) redeliveries() *area.Redeliveries {
	return &area.Redeliveries{
		Side: h, Prefix: redeliverPath, Rule: changes(partner.Developer), Store: h.Redeliveries,
	}
}

// Starter names the person who began a redelivery.
func (h *Handler) Starter(r *http.Request, visit area.Visit, j redelivery.Job) (string, error) {
	known, err := h.jobPeople(r, visit.(*Visit), []redelivery.Job{j})
	return known.who(j.By), err
}

// RedeliveryVersions has the versions of redeliveries.
func (h *Handler) RedeliveryVersions() *live.Versions { return h.Live.jobs }

// redeliverView is the page that resends many events.
type redeliverView struct {
	Form    ui.Form
	Filters ui.Filters
	Plan    redelivery.Plan
	Which   string // in words
	Takes   string // duration, "" if there is nothing to do
	Action  string // target of the form that starts it, "" if the person may not
	Rate    int
	Running *area.Redelivery // the running redelivery, if any
	Jobs    ui.Table
	Back    string
	Curl    ui.Curl
}

// rateOf reads the rate.
func rateOf(text string) (int, bool) {
	if text == "" {
		return redelivery.DefaultRate, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= redelivery.MaxRate
}

// redelivery shows the number of events to resend, and the duration.
func (h *Handler) redelivery(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showRedelivery(w, r, v, nil)
}

func (h *Handler) showRedelivery(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	rate, ok := rateOf(area.CleanQuery(r.URL.Query().Get("rate")))
	view := redeliverView{
		Form: a.Form, Back: v.Path(deliveriesPath) + area.Query(r.URL.Query(), "rate"),
		Filters: ui.Filters{
			Label:  "Choose what is sent again",
			URL:    v.Path(redeliverPath),
			Active: r.URL.RawQuery != "",
			Fold:   true,
		},
		Rate: rate,
		Curl: h.call("Begin this by API", http.MethodPost, "/v2/redeliveries"),
	}
	view.Form.Fields = append(view.Form.Fields, ui.Field{
		Name: "rate", Label: "Events a second", Value: strconv.Itoa(rate),
		Hint: fmt.Sprintf("1 to %d", redelivery.MaxRate),
	})
	status := http.StatusOK
	if !ok {
		view.Form.Refuse(fault.Field("rate", "must be a whole number from 1 to %d.", redelivery.MaxRate))
	}
	if refused != nil {
		view.Form.Refuse(refused)
		status = wire.Status(fault.Of(refused).Kind)
	}
	for _, f := range view.Form.Fields {
		if f.Name != "id" { // a single event is sent from its own page
			view.Filters.Fields = append(view.Filters.Fields, f)
		}
	}
	if a.Filter.EventID != 0 {
		a.Filter.EventID = 0
	}
	if view.Form.Failed() && refused == nil {
		status = http.StatusBadRequest
	} else if err := h.plan(r, v, a, rate, &view); err != nil {
		return err
	}
	if err := h.addJobs(r, v, &view); err != nil {
		return err
	}
	return h.render(w, r, v, "redeliver", ui.View{Title: "Recover", Status: status, Data: view})
}

// plan counts the events to send.
func (h *Handler) plan(r *http.Request, v *Visit, a area.DeliveryQuery, rate int, view *redeliverView) error {
	plan, err := h.Redeliveries.Plan(
		r.Context(), redelivery.Request{PartnerID: v.Partner.ID, Filter: a.Filter, Rate: rate},
	)
	if err != nil {
		return err
	}
	one, rest := a.Words()
	view.Plan = plan
	view.Which = plural.Of(plan.Count, one) + rest
	if plan.Count > 0 {
		view.Takes = area.Estimate(plan.Estimate)
	}
	for _, p := range append(a.Params(), ui.Param{Name: "rate", Value: rate}) {
		if p.Name != "event_id" {
			view.Curl.Form = append(view.Curl.Form, p)
		}
	}
	if !v.Covers(partner.Developer) {
		return nil
	}
	view.Action = v.Path(redeliverPath) + area.Query(r.URL.Query(), "rate")
	return nil
}

// addJobs adds earlier jobs and the running one.
func (h *Handler) addJobs(r *http.Request, v *Visit, view *redeliverView) error {
	jobs, err := h.Redeliveries.List(r.Context(), v.Partner.ID, 0, 20)
	if err != nil || len(jobs) == 0 {
		return err
	}
	known, err := h.jobPeople(r, v, jobs)
	if err != nil {
		return err
	}
	if jobs[0].Open() {
		running := h.redeliveries().Of(h.about(v), jobs[0])
		running.By = known.who(jobs[0].By)
		view.Running = &running
		if view.Form.Problem != "" { // the API calls it a redelivery
			view.Form.Problem = fmt.Sprintf(
				"Recovery %d is %s. Resume or cancel it, or wait until it is done; then begin another.",
				running.ID,
				running.State(),
			)
		}
	}
	rows := make([]ui.JobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = ui.JobRow{
			ID: j.ID, Label: fmt.Sprintf("Recovery %d", j.ID), URL: v.Path(redeliverPath+"/%d", j.ID),
			Status: string(j.Status()),
			Counts: []int64{j.Count, j.Skipped}, By: known.who(j.By), At: j.CreatedAt,
		}
	}
	view.Jobs = ui.JobsTable("Recoveries, newest first", "Recovery", []string{"Sent", "Skipped"}, rows)
	return nil
}

// jobPeople looks up the people who started redeliveries.
func (h *Handler) jobPeople(r *http.Request, v *Visit, jobs []redelivery.Job) (knownPeople, error) {
	var ids []int64
	for _, j := range jobs {
		if j.By.Kind == audit.ByUser {
			ids = append(ids, j.By.ID)
		}
	}
	return h.peopleOf(r.Context(), v, ids)
}

// begin starts a redelivery of the events that match the query.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	rate, ok := rateOf(ui.FormText(r, "rate"))
	if !ok {
		return h.showRedelivery(
			w, r, v, fault.Field("rate", "must be a whole number from 1 to %d.", redelivery.MaxRate),
		)
	}
	if a.Form.Failed() { // the page reads the filters again and shows their errors
		return h.showRedelivery(w, r, v, nil)
	}
	a.Filter.EventID = 0
	j, err := h.Redeliveries.Begin(r.Context(), v.Actor(), redelivery.Request{
		PartnerID: v.Partner.ID, Filter: a.Filter, LicenseKey: a.LicenseKey, Rate: rate,
	})
	switch {
	case fault.Of(err) != nil:
		return h.showRedelivery(w, r, v, err)
	case err != nil:
		return err
	}
	return h.done(
		w, r, v, fmt.Sprintf("%s/%d", redeliverPath, j.ID),
		"The recovery has begun. You can leave this page and come back to it.",
	)
}
