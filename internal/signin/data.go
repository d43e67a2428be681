package signin

import (
	"net/http"

	"claviger/internal/visitor"
)

// data sends the visitor their stored data, as a file.
func (h *Handler) data(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.Data.File(w, r, v.User.ID, "my-data.json")
}
