package portal

import (
	"net/http"

	"claviger/internal/area"
)

func (h *Handler) done(w http.ResponseWriter, r *http.Request, v *Visit, path, text string) error {
	return h.area.Done(w, r, v, path, text)
}

func missing(err error) error { return area.Missing(err) }

func id(r *http.Request, name string) int64 { return area.ID(r, name) }
