package portal

import (
	"context"
	"net/http"

	"claviger/internal/ui"
)

// follow serves a stream; see area.Area.Follow.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request, v *Visit, changed <-chan struct{}, read func(context.Context) ([]ui.Message, error)) error {
	return h.area.Follow(w, r, v, changed, read)
}
