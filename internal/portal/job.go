package portal

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/replay"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// recoveryOf is a recovery for the page.
func recoveryOf(v *Visit, j replay.Job, known knownPeople) area.Recovery {
	return area.Recovery{Job: j, By: known.who(j.By), URL: v.Path(recoverPath+"/%d", j.ID), May: v.Covers(partner.Developer), Deliveries: v.Path(deliveriesPath)}
}

// job shows a recovery with its progress.
func (h *Handler) job(r *http.Request, v *Visit) (area.Shown, error) {
	j, err := h.Replays.Get(r.Context(), v.Partner.ID, id(r, "job"))
	if err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.jobs, Topic: j.ID, Page: "recovery",
		Attempts: func(ready live.Signal) *live.Watch[history.Fresh] {
			return h.Live.attempts.WatchWith(v.Partner.ID, ready)
		},
		View: func(r *http.Request) (ui.View, string, error) {
			j, err := h.Replays.Get(r.Context(), v.Partner.ID, j.ID)
			if err != nil {
				return ui.View{}, "", missing(err)
			}
			known, err := h.jobPeople(r, v, []replay.Job{j})
			if err != nil {
				return ui.View{}, "", err
			}
			shown := recoveryOf(v, j, known)
			if err := shown.AddOutcome(r.Context(), h.Replays); err != nil {
				return ui.View{}, "", err
			}
			shown.Curl = h.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/v2/redeliveries/%d", j.ID))
			view, says := shown.View()
			return view, says, nil
		},
	}, nil
}

// onJob is the handler of an act on a recovery.
func (h *Handler) onJob(did string, do func(context.Context, audit.Actor, int64, int64) (replay.Job, error)) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		j, err := do(r.Context(), v.Actor(), v.Partner.ID, id(r, "job"))
		if err != nil {
			return missing(err)
		}
		return h.done(w, r, v, fmt.Sprintf("%s/%d", recoverPath, j.ID), did)
	}
}

func (h *Handler) pauseJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery is paused.", h.Replays.Pause)(w, r, v)
}

func (h *Handler) resumeJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery goes on.", h.Replays.Resume)(w, r, v)
}

func (h *Handler) cancelJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.onJob("The recovery is cancelled.", h.Replays.Cancel)(w, r, v)
}

// askCancelJob asks whether a recovery ends.
func (h *Handler) askCancelJob(w http.ResponseWriter, r *http.Request, v *Visit) error {
	j, err := h.Replays.Get(r.Context(), v.Partner.ID, id(r, "job"))
	if err != nil {
		return missing(err)
	}
	return h.confirm(w, r, v, http.StatusOK, recoveryOf(v, j, knownPeople{}).Cancelling(h.call, "/v2"))
}
