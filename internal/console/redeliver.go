package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/account"
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

const (
	redeliverPath  = "/recover"
	redeliveryPath = redeliverPath + "/{partner}/{recovery}"
)

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
	q := redelivering{partner: p, request: redelivery.Request{PartnerID: p.ID, Filter: history.Filter{State: state}, Rate: redelivery.DefaultRate}}
	q.view = ui.Confirm{
		Heading: "Send again what failed of " + p.Name, Action: v.Path(redeliverPath+"/%d", p.ID), Cancel: v.Path(outagesPath),
		Button: ui.Button{Label: "Send them again", Busy: "Beginning…"},
		Form: ui.Form{Fields: []ui.Field{
			{Name: "state", Label: "Events to send", Type: "select", Value: string(state), Options: redeliverStates, Required: true},
			{Name: "rate", Label: "Events a second", Value: value("rate"), Hint: fmt.Sprintf("1 to %d", redelivery.MaxRate), Required: true},
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
	number := plural.Of(plan.Count, "event")
	if plan.More {
		number = "more than " + number
	}
	q.view.Says = []string{
		fmt.Sprintf("It is about %s now. They are sent oldest first, in order for each license; what was delivered meanwhile is skipped.", number),
		"After the events of a license comes its newest one, so that the partner ends up with its present state.",
	}
	if plan.Count == 0 {
		q.view.Says = []string{"Nothing of this partner failed and is not delivered, so there is nothing to send."}
		if !q.view.Failed() {
			q.view.Action = ""
		}
	}
	call := d.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/redeliveries", p.ID))
	call.Form = []ui.Param{{Name: "state", Value: string(q.request.Filter.State)}, {Name: "rate", Value: q.request.Rate}}
	q.view.Call = &call
	return q, nil
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
	return d.area.Done(w, r, v, fmt.Sprintf("%s/%d/%d", redeliverPath, q.partner.ID, job.ID), "The recovery has begun. You can leave this page and come back to it.")
}

// refuseSecond links to the running redelivery. The API calls it a redelivery.
func (d *Delivery) refuseSecond(w http.ResponseWriter, r *http.Request, v *Visit, q redelivering, refused error) error {
	job, err := d.Redeliveries.Last(r.Context(), q.partner.ID)
	if err != nil {
		return err
	}
	if job.Open() {
		q.view.Cancel, q.view.Back = v.Path(redeliverPath+"/%d/%d", q.partner.ID, job.ID), fmt.Sprintf("Look at recovery %d", job.ID)
		refused = fault.New(fault.Conflict, fault.Of(refused).Code, "Recovery %d of this partner is %s. Wait until it is done, or cancel it; then begin another.", job.ID, job.Status())
	}
	return d.area.Refuse(w, r, v, q.view, refused)
}

// find returns the redelivery of the path.
func (d *Delivery) find(r *http.Request) (redelivery.Job, partner.Partner, error) {
	p, err := d.Partners.Get(r.Context(), area.ID(r, "partner"))
	if err != nil {
		return redelivery.Job{}, p, area.Missing(err)
	}
	job, err := d.Redeliveries.Get(r.Context(), p.ID, area.ID(r, "recovery"))
	if err != nil {
		return job, p, area.Missing(err)
	}
	return job, p, nil
}

// redelivery shows the progress of a redelivery.
func (d *Delivery) redelivery(r *http.Request, v *Visit) (area.Shown, error) {
	job, _, err := d.find(r)
	if err != nil {
		return area.Shown{}, err
	}
	return area.Shown{
		Versions: d.Live.redeliveries, Topic: job.ID, Page: "redelivery",
		Attempts: func(ready live.Signal) *live.Watch[history.Fresh] {
			return d.Live.attempts.WatchWith(area.AllPartners, ready)
		},
		View: func(r *http.Request) (ui.View, string, error) {
			job, p, err := d.find(r)
			if err != nil {
				return ui.View{}, "", err
			}
			shown := d.redeliveryOf(v, job, p)
			if job.By.Kind == audit.ByUser {
				names, err := d.Site.Accounts.Names(r.Context(), []int64{job.By.ID})
				if err != nil {
					return ui.View{}, "", err
				}
				shown.By = senderName(names)(job.By)
			}
			if err := shown.AddOutcome(r.Context(), d.Redeliveries); err != nil {
				return ui.View{}, "", err
			}
			view, says := shown.View()
			return view, says, nil
		},
	}, nil
}

// redeliveryOf converts a redelivery for the page.
func (d *Delivery) redeliveryOf(v *Visit, job redelivery.Job, p partner.Partner) area.Redelivery {
	return area.Redelivery{
		Job: job, By: senderName(nil)(job.By), Partner: &ui.Item{Label: p.Name, URL: d.pageOfPartner(v, p.ID)},
		URL: v.Path(redeliverPath+"/%d/%d", p.ID, job.ID), May: v.May(account.Support), Deliveries: v.Path(deliveriesPath),
		Curl: d.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d/redeliveries/%d", p.ID, job.ID)),
	}
}

// actOnRedelivery is an act on a redelivery.
type actOnRedelivery func(ctx context.Context, by audit.Actor, partnerID, id int64) (redelivery.Job, error)

func (d *Delivery) pauseRedelivery() actOnRedelivery  { return d.Redeliveries.Pause }
func (d *Delivery) resumeRedelivery() actOnRedelivery { return d.Redeliveries.Resume }
func (d *Delivery) cancelRedelivery() actOnRedelivery { return d.Redeliveries.Cancel }

// onRedelivery returns the handler of an act on a redelivery.
func (d *Delivery) onRedelivery(did string, act func() actOnRedelivery) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		job, p, err := d.find(r)
		if err != nil {
			return err
		}
		if _, err := act()(r.Context(), v.Actor(), p.ID, job.ID); err != nil {
			return area.Missing(err)
		}
		return d.area.Done(w, r, v, fmt.Sprintf("%s/%d/%d", redeliverPath, p.ID, job.ID), did)
	}
}

// askCancelRedelivery asks whether to cancel a redelivery.
func (d *Delivery) askCancelRedelivery(w http.ResponseWriter, r *http.Request, v *Visit) error {
	job, p, err := d.find(r)
	if err != nil {
		return err
	}
	return d.confirm(w, r, v, http.StatusOK, d.redeliveryOf(v, job, p).Cancelling(d.call, fmt.Sprintf("/operator/v1/partners/%d", p.ID)))
}
