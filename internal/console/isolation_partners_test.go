package console_test

import "strconv"

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
}
