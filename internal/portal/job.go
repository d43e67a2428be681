package portal

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/replay"
	"claviger/internal/ui"
)

// jobView is a recovery with its progress.
type jobView struct {
	ID        int64
	Status    string
	Stopped   string
	Which     string
	From, To  time.Time
	Rate      int
	By        string
	Count     int64
	Skipped   int64
	Expected  int64
	More      bool   // it expected more than was counted
	Left      string // how long it takes, "" if it is not known
	CreatedAt time.Time
	EndedAt   time.Time
	URL       string
	Open      bool
	May       bool // the person may pause and cancel it
	Curl      ui.Curl
}

// Percent is how much is done, for a progress bar.
func (j jobView) Percent() int64 {
	switch done := j.Count + j.Skipped; {
	case !j.Open:
		return 100
	case j.Expected == 0:
		return 0
	default:
		return min(100*done/j.Expected, 99)
	}
}

func viewOf(v *Visit, j replay.Job, names map[int64]string) jobView {
	a := asked{area.DeliveryQuery{Filter: j.Filter, LicenseKey: j.LicenseKey}}
	one, rest := which(a)
	out := jobView{
		ID: j.ID, Status: string(j.Status()), Stopped: j.Stopped, Which: one + "s" + rest, From: j.Filter.From, To: j.Filter.To, Rate: j.Rate,
		By: who(j.By, names), Count: j.Count, Skipped: j.Skipped, Expected: j.Expected, More: j.Expected >= replay.MaxCounted,
		CreatedAt: j.CreatedAt, EndedAt: j.FinishedAt, URL: v.Path(recoverPath+"/%d", j.ID), Open: j.Open(), May: v.Covers(partner.Developer),
	}
	if left := j.Estimate(); j.Open() && left > 0 {
		out.Left = spanOf(left)
	}
	return out
}

// job shows a recovery with its progress.
func (h *Handler) job(r *http.Request, v *Visit) (area.Shown, error) {
	j, err := h.Replays.Get(r.Context(), v.Partner.ID, id(r, "job"))
	if err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.jobs, Topic: j.ID, Page: "job",
		View: func(r *http.Request) (ui.View, string, error) { return h.jobView(r, v, j.ID) },
	}, nil
}

func (h *Handler) jobView(r *http.Request, v *Visit, jobID int64) (ui.View, string, error) {
	j, err := h.Replays.Get(r.Context(), v.Partner.ID, jobID)
	if err != nil {
		return ui.View{}, "", missing(err)
	}
	names, err := h.jobNames(r, []replay.Job{j})
	if err != nil {
		return ui.View{}, "", err
	}
	view := viewOf(v, j, names)
	view.Curl = h.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/v2/redeliveries/%d", j.ID))
	page := ui.View{Title: fmt.Sprintf("Recovery %d", j.ID), Fragment: "job-now", Data: view}
	if view.Status == string(replay.Running) {
		page.Refresh = 5
	}
	return page, fmt.Sprintf("The recovery is %s", view.Status), nil
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
	call := h.call("The same by API", http.MethodPost, fmt.Sprintf("/v2/redeliveries/%d/cancel", j.ID))
	return h.confirm(w, r, v, http.StatusOK, confirmView{
		Heading: fmt.Sprintf("Cancel recovery %d", j.ID),
		Says: []string{
			plural.Of(j.Count, "event was", "events were") + " made due so far; what is due is sent all the same, and the rest is not.",
			"A cancelled recovery cannot go on. A new one begins at its beginning and skips what was delivered.",
		},
		Action: v.Path(recoverPath+"/%d/cancel", j.ID), Cancel: v.Path(recoverPath+"/%d", j.ID),
		Button: ui.Button{Label: "Cancel the recovery", Busy: "Cancelling…", Kind: "danger"}, Call: &call,
	})
}
