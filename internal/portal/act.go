package portal

import (
	"net/http"
	"time"

	"claviger/internal/area"
	"claviger/internal/ui"
)

// Shared with the console; see package area.
type (
	confirmView = ui.Confirm
	secretView  = ui.Secrets
)

func (h *Handler) confirm(w http.ResponseWriter, r *http.Request, v *Visit, status int, view confirmView) error {
	return h.area.Confirm(w, r, v, status, view)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, v *Visit, view confirmView, err error) error {
	return h.area.Refuse(w, r, v, view, err)
}

func (h *Handler) done(w http.ResponseWriter, r *http.Request, v *Visit, path, text string) error {
	return h.area.Done(w, r, v, path, text)
}

func (h *Handler) showSecret(w http.ResponseWriter, r *http.Request, v *Visit, view secretView) error {
	return h.area.ShowSecrets(w, r, v, view)
}

func missing(err error) error { return area.Missing(err) }

func id(r *http.Request, name string) int64 { return area.ID(r, name) }

func span(d time.Duration) string { return area.Span(d) }
