package console_test

import (
	"strconv"

	"claviger/internal/partner"
)

// What the isolation test needs of the pages about partners.
func init() {
	registry.Placeholders["partner"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.tide.ID, 10)
	}
	registry.Forms["/partners/{partner}/pause"] = form("reason", "isolation") // without what was seen, which is refused
	registry.Forms["/partners/{partner}/resume"] = form()
	registry.Forms["/partners/{partner}/support"] = form("reason", "isolation")
	registry.Forms["/partners/{partner}/support/allow"] = form() // the box is not ticked
	registry.Forms["/partners/{partner}/support/leave"] = form()
	registry.Placeholders["tier"] = func(_ *harness, of known) string {
		if of == missing {
			return "77"
		}
		return "1"
	}
	registry.Placeholders["credential"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return h.credential()
	}
	registry.Forms["/partners/new"] = form("name", "")
	registry.Forms["/partners/{partner}/plans/new"] = form("tier", "none")
	registry.Forms["/partners/{partner}/plans/{tier}"] = form("name", "")
	registry.Forms["/partners/{partner}/plans/{tier}/remove"] = form()
	registry.Forms["/partners/{partner}/credentials/{credential}/rotate"] = form("overlap_s", "-1")
}

// credential is the id of a secret of Tide that can be rotated.
func (h *harness) credential() string {
	h.Helper()
	list, err := h.Partners.ListCredentials(h.Context(), h.tide.ID)
	h.Must(err)
	for _, c := range list {
		if c.What == partner.WebhookSecret && !c.Replaced() {
			return strconv.FormatInt(c.ID, 10)
		}
	}
	h.Fatal("Tide has no webhook secret")
	return ""
}
