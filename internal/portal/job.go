package portal

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/redelivery"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// redeliveryOf converts a redelivery for the page.
func redeliveryOf(v *Visit, j redelivery.Job, known knownPeople) area.Redelivery {
	return area.Redelivery{
		Job:        j,
		By:         known.who(j.By),
		URL:        v.Path(redeliverPath+"/%d", j.ID),
		May:        v.Covers(partner.Developer),
		Deliveries: v.Path(deliveriesPath),
	}
}

// job shows a redelivery with its progress.
func (h *Handler) job(r *http.Request, v *Visit) (area.Shown, error) {
	j, err := h.Redeliveries.Get(r.Context(), v.Partner.ID, id(r, "job"))
	if err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.jobs, Topic: j.ID, Page: "redelivery",
		Attempts: func(ready live.Signal) *live.Watch[history.Fresh] {
			return h.Live.attempts.WatchWith(v.Partner.ID, ready)
		},
		View: func(r *http.Request) (ui.View, string, error) {
			j, err := h.Redeliveries.Get(r.Context(), v.Partner.ID, j.ID)
			if err != nil {
				return ui.View{}, "", missing(err)
			}
			known, err := h.jobPeople(r, v, []redelivery.Job{j})
			if err != nil {
				return ui.View{}, "", err
			}
			shown := redeliveryOf(v, j, known)
			if err := shown.AddOutcome(r.Context(), h.Redeliveries); err != nil {
				return ui.View{}, "", err
			}
			shown.Curl = h.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/v2/redeliveries/%d", j.ID))
			view, says := shown.View()
			return view, says, nil
		},
	}, nil
}

// onJob returns the handler of an act on a redelivery.
func (h *Handler) onJob(did string, do func(context.Context, audit.Actor, int64, int64) (redelivery.Job, error)) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		j, err := do(r.Context(), v.Actor(), v.Partner.ID, id(r, "job"))
		if err != nil {
			return missing(err)
		}
		return h.done(w, r, v, fmt.Sprintf("%s/%d", redeliverPath, j.ID), did)
	}
}

func (h *Handler) pauseJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery is paused.", h.Redeliveries.Pause)(w, r, v)
}

func (h *Handler) resumeJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery goes on.", h.Redeliveries.Resume)(w, r, v)
}

func (h *Handler) cancelJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery is cancelled.", h.Redeliveries.Cancel)(w, r, v)
}

// askCancelJob asks whether to cancel a redelivery.
func (h *Handler) askCancelJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	j, err := h.Redeliveries.Get(r.Context(), v.Partner.ID, id(r, "job"))
	if err != nil {
		return missing(err)
	}
	return h.confirm(w, r, v, http.StatusOK, redeliveryOf(v, j, knownPeople{}).Cancelling(h.call, "/v2"))
}
