package portal

import (
	"context"
	"net/http"

	"claviger/internal/ui"
)

// follow serves a stream: read returns what is new, and changed receives when there may
// be something. Whether the person is still signed in and has the role is checked before
// each message and every 30 seconds. read gets a context that lasts as long as the page.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request, v *Visit, changed <-chan struct{}, read func(context.Context) ([]ui.Message, error)) error {
	return h.Streams.Serve(w, r, ui.Stream{
		Person: v.User.ID, Changed: changed, Read: read,
		Check: func(ctx context.Context) error {
			if err := h.Site.StillSignedIn(ctx, r, v.Visitor); err != nil {
				return err
			}
			_, err := h.visit(ctx, r, v.Visitor, v.least)
			return err
		},
	})
}
