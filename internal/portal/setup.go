package portal

import (
	"net/http"

	"claviger/internal/profile"
	"claviger/internal/ui"
)

const setupPath = "/setup"

// setupView is the page that leads through the integration.
type setupView struct {
	ClientID string
	Profile  profile.Profile
	Curl     ui.Curl
}

func (h *Handler) setup(w http.ResponseWriter, r *http.Request, v *Visit) error {
	p, err := h.Profiles.Read(r.Context(), h.Profiles.DB, v.Partner.ID)
	if err != nil {
		return err
	}
	return h.render(w, r, v, "setup", ui.View{Title: "Set-up", Data: setupView{
		ClientID: v.Partner.ClientID, Profile: p, Curl: h.call("Read these URLs by API", http.MethodGet, "/v2/profile"),
	}})
}
