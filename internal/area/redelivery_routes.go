package area

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/audit"
	"claviger/internal/live"
	"claviger/internal/redelivery"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// RedeliverySide is the portal or the console, as the pages about one redelivery see it.
type RedeliverySide interface {
	Side
	// Starter names the person who began a redelivery.
	Starter(r *http.Request, v Visit, j redelivery.Job) (string, error)
	// WatchAttempts watches attempts for partners that the visitor may see.
	WatchAttempts(v Visit, ready live.Signal) *live.Watch[history.Fresh]
	// RedeliveryVersions has the versions of redeliveries.
	RedeliveryVersions() *live.Versions
}

// Redeliveries serves the page of a redelivery and the acts on it.
type Redeliveries struct {
	Side   RedeliverySide
	Prefix string // of the pages in the table; may have {partner}
	Rule   Rule
	Store  *redelivery.Store
}

// Routes returns the rows of a redelivery.
func (d *Redeliveries) Routes() []Route {
	path := d.Prefix + "/{recovery}"
	rows := append(Lives(path, d.Rule, d.show), Actions(path+"/cancel", d.Rule, d.cancel)...)
	return append(
		rows,
		Route{
			Kind: Act, Path: path + "/pause", Needs: d.Rule(Act, true),
			Serve: d.act("The recovery is paused.", (*redelivery.Store).Pause),
		},
		Route{
			Kind: Act, Path: path + "/resume", Needs: d.Rule(Act, true),
			Serve: d.act("The recovery goes on.", (*redelivery.Store).Resume),
		},
	)
}

// find returns the redelivery of the path.
func (d *Redeliveries) find(r *http.Request, visit Visit) (*PartnerVisit, redelivery.Job, error) {
	v, err := d.Side.About(r, visit)
	if err != nil {
		return nil, redelivery.Job{}, err
	}
	j, err := d.Store.Get(r.Context(), v.Partner.ID, ID(r, "recovery"))
	return v, j, Missing(err)
}

// Of returns a redelivery of the partner as its page shows it, except its starter and outcome.
func (d *Redeliveries) Of(v *PartnerVisit, j redelivery.Job) Redelivery {
	prefix := strings.Replace(d.Prefix, "{partner}", strconv.FormatInt(v.Partner.ID, 10), 1)
	shown := Redelivery{
		Job: j, URL: v.Path(prefix+"/%d", j.ID), May: v.Meets(d.Rule(Page, true)), Deliveries: v.Path(DeliveriesPath),
		Curl: v.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/redeliveries/%d", j.ID)),
	}
	if !v.Own {
		shown.Partner = &ui.Item{Label: v.Partner.Name, URL: v.Base}
	}
	return shown
}

// show shows the progress of a redelivery.
func (d *Redeliveries) show(r *http.Request, visit Visit) (Shown, error) {
	_, j, err := d.find(r, visit)
	if err != nil {
		return Shown{}, err
	}
	return Shown{
		Versions: d.Side.RedeliveryVersions(), Topic: j.ID, Page: "redelivery",
		Attempts: func(ready live.Signal) *live.Watch[history.Fresh] { return d.Side.WatchAttempts(visit, ready) },
		View: func(r *http.Request) (ui.View, string, error) {
			v, j, err := d.find(r, visit)
			if err != nil {
				return ui.View{}, "", err
			}
			shown := d.Of(v, j)
			if shown.By, err = d.Side.Starter(r, visit, j); err != nil {
				return ui.View{}, "", err
			}
			if shown.Outcome, shown.Known, err = d.Store.Outcome(r.Context(), j); err != nil {
				return ui.View{}, "", err
			}
			view, says := shown.view()
			return view, says, nil
		},
	}, nil
}

// act returns the handler of an act that needs no question.
func (d *Redeliveries) act(
	did string,
	do func(s *redelivery.Store, ctx context.Context, by audit.Actor, partnerID, id int64) (redelivery.Job, error),
) Serve {
	return func(w http.ResponseWriter, r *http.Request, visit Visit) error {
		v, j, err := d.find(r, visit)
		if err != nil {
			return err
		}
		if _, err := do(d.Store, r.Context(), v.Actor(), v.Partner.ID, j.ID); err != nil {
			return Missing(err)
		}
		v.url = d.Of(v, j).URL
		return v.done(w, r, did)
	}
}

// cancel cancels the redelivery of the path.
func (d *Redeliveries) cancel(r *http.Request, visit Visit) (Action, error) {
	v, j, err := d.find(r, visit)
	if err != nil {
		return Action{}, err
	}
	call := v.call("The same by API", http.MethodPost, fmt.Sprintf("/redeliveries/%d/cancel", j.ID))
	return Action{
		Ask: d.Of(v, j).cancelling(call),
		Do: func(ctx context.Context) (string, error) {
			_, err := d.Store.Cancel(ctx, v.Actor(), v.Partner.ID, j.ID)
			return "The recovery is cancelled.", err
		},
	}, nil
}
