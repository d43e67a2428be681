package console

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
	"claviger/internal/webhook/history"
)

const redeliverPath = "/recover"

// redeliverStates are the states of deliveries that can be resent.
var redeliverStates = []ui.Option{
	{Value: string(history.Failed), Label: "Everything that failed"},
	{Value: string(history.Failing), Label: "What is tried again by itself"},
	{Value: string(history.Exhausted), Label: "Exhausted events"},
	{Value: string(history.Superseded), Label: "Superseded events"},
}

// redelivering is the selection of a form of deliveries to resend.
type redelivering struct {
	partner partner.Partner
	request redelivery.Request
	view    ui.Confirm
}

// redelivering reads the selection, counts it and builds the page that asks.
func (d *Delivery) redelivering(r *http.Request, v *Visit, value func(string) string) (redelivering, error) {
	p, err := d.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return redelivering{}, area.Missing(err)
	}
	state := history.State(value("state"))
	q := redelivering{partner: p, request: redelivery.Request{
		PartnerID: p.ID, Filter: history.Filter{State: state}, Rate: redelivery.DefaultRate,
	}}
	q.view = ui.Confirm{
		Heading: "Send again what failed of " + p.Name,
		Action:  v.Path(redeliverPath+"/%d", p.ID),
		Cancel:  v.Path(outagesPath),
		Button:  ui.Button{Label: "Send them again", Busy: "Beginning…"},
		Form: ui.Form{Fields: []ui.Field{
			{
				Name: "state", Label: "Events to send", Type: "select", Value: string(state), Options: redeliverStates,
				Required: true,
			},
			{
				Name: "rate", Label: "Events a second", Value: value("rate"), Required: true,
				Hint: fmt.Sprintf("1 to %d", redelivery.MaxRate),
			},
		}},
	}
	if !q.request.Filter.OnlyFailures() {
		q.request.Filter.State = history.Failed
		q.view.Fields[0].Value = string(history.Failed)
		if state != "" {
			q.view.Refuse(fault.Field("state", "must be chosen from the list."))
		}
	}
	if s := value("rate"); s == "" {
		q.view.Fields[1].Value = strconv.Itoa(redelivery.DefaultRate)
	} else if n, err := strconv.Atoi(s); err != nil || n < 1 || n > redelivery.MaxRate {
		q.view.Refuse(fault.Field("rate", "must be a whole number from 1 to %d.", redelivery.MaxRate))
	} else {
		q.request.Rate = n
	}
	plan, err := d.Redeliveries.Plan(r.Context(), q.request)
	if err != nil {
		return q, err
	}
	q.say(plan)
	call := d.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/redeliveries", p.ID))
	call.Form = []ui.Param{
		{Name: "state", Value: string(q.request.Filter.State)}, {Name: "rate", Value: q.request.Rate},
	}
	q.view.Call = &call
	return q, nil
}

// say adds what would be sent. If there is nothing, the page has no form.
func (q *redelivering) say(plan redelivery.Plan) {
	number := plural.Of(plan.Count, "event")
	if plan.More {
		number = "more than " + number
	}
	q.view.Says = []string{
		fmt.Sprintf(
			"It is about %s now. They are sent oldest first, in order for each license; what was delivered meanwhile "+
				"is skipped.", number,
		),
		"After the events of a license comes its newest one, so that the partner ends up with its present state.",
	}
	if plan.Count == 0 {
		q.view.Says = []string{"Nothing of this partner failed and is not delivered, so there is nothing to send."}
		if !q.view.Failed() {
			q.view.Action = ""
		}
	}
}

// askRedeliver shows the number of deliveries that would be resent.
func (d *Delivery) askRedeliver(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q, err := d.redelivering(r, v, r.URL.Query().Get)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if q.view.Failed() {
		status = http.StatusBadRequest
	}
	return d.area.Confirm(w, r, v, status, q.view)
}

// redeliver starts resending.
func (d *Delivery) redeliver(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	q, err := d.redelivering(r, v, func(name string) string { return ui.FormText(r, name) })
	if err != nil {
		return err
	}
	if q.view.Failed() {
		return d.area.Confirm(w, r, v, http.StatusUnprocessableEntity, q.view)
	}
	job, err := d.Redeliveries.Begin(r.Context(), v.Actor(), q.request)
	if f := fault.Of(err); f != nil && f.Kind == fault.Conflict {
		return d.refuseSecond(w, r, v, q, err)
	}
	if err != nil {
		return d.area.Refuse(w, r, v, q.view, err)
	}
	return d.area.Done(
		w, r, v, fmt.Sprintf("%s/%d/%d", redeliverPath, q.partner.ID, job.ID),
		"The recovery has begun. You can leave this page and come back to it.",
	)
}

// refuseSecond links to the running redelivery. The API calls it a redelivery.
func (d *Delivery) refuseSecond(w http.ResponseWriter, r *http.Request, v *Visit, q redelivering, refused error) error {
	job, err := d.Redeliveries.Last(r.Context(), q.partner.ID)
	if err != nil {
		return err
	}
	if job.Open() {
		q.view.Cancel = v.Path(redeliverPath+"/%d/%d", q.partner.ID, job.ID)
		q.view.Back = fmt.Sprintf("Look at recovery %d", job.ID)
		refused = fault.New(
			fault.Conflict, fault.Of(refused).Code,
			"Recovery %d of this partner is %s. Wait until it is done, or cancel it; then begin another.",
			job.ID, job.Status(),
		)
	}
	return d.area.Refuse(w, r, v, q.view, refused)
}

// About returns the visit for a page about a redelivery of the partner of the path.
func (d *Delivery) About(r *http.Request, visit area.Visit) (*area.PartnerVisit, error) {
	p, err := d.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return nil, area.Missing(err)
	}
	return aboutPartner(visit.(*Visit), p), nil
}

// Starter names the person who began a redelivery.
func (d *Delivery) Starter(r *http.Request, _ area.Visit, job redelivery.Job) (string, error) {
	if job.By.Kind != audit.ByUser {
		return senderName(nil)(job.By), nil
	}
	names, err := d.Site.Accounts.Names(r.Context(), []int64{job.By.ID})
	return senderName(names)(job.By), err
}

// RedeliveryVersions has the versions of redeliveries.
func (d *Delivery) RedeliveryVersions() *live.Versions { return d.Live.redeliveries }
