package console_test

import (
	"context"
	"strconv"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/ledger"
	"claviger/internal/partner"
)

// Values of the isolation test for the pages about partners.
func init() {
	registry.Placeholders["partner"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.tide.ID, 10)
	}
	registry.Forms["/partners/{partner}/pause"] = form("reason", "isolation") // refused: no seen field
	registry.Forms["/partners/{partner}/resume"] = form()
	registry.Forms["/partners/{partner}/support"] = form("reason", "isolation")
	registry.Forms["/partners/{partner}/support/allow"] = form() // the box is not ticked
	registry.Forms["/partners/{partner}/support/leave"] = form()
	registry.Forms["/partners/{partner}/statements/{statement}"] = form()
	registry.Placeholders["statement"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		if list, _, err := h.Statements.List(h.Context(), h.tide.ID, 0, 1); err != nil || len(list) == 0 {
			h.Post(h.tide.ID, time.Now(), func(_ context.Context, j *ledger.Journal) error {
				return j.Adjust("isolation", 100, "EUR", "A prize")
			})
			h.Statement(h.tide.ID)
		}
		return "1"
	}
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
	registry.Placeholders["contact"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return h.contact()
	}
	registry.Forms["/partners/{partner}/urls/redirect-url"] = form("redirect_url", "none") // refused: no seen field
	registry.Forms["/partners/{partner}/urls/webhook-url"] = form("webhook_url", "none")
	registry.Forms["/partners/{partner}/contacts"] = form("name", "", "email", "")
	registry.Forms["/partners/{partner}/contacts/{contact}/test"] = form()
	registry.Forms["/partners/{partner}/contacts/{contact}/remove"] = form()
	registry.Forms["/partners/{partner}/settings"] = form("brand", "Isolation") // likewise
	registry.Forms["/partners/{partner}/settings/single-key"] = form("overlap_s", "0")
	registry.Forms["/partners/{partner}/credentials/{credential}/switch"] = form() // it was not replaced
	registry.Forms["/partners/new"] = form("name", "")
	registry.Forms["/partners/{partner}/product"] = form("tagline", "Isolation") // refused: no seen field
	registry.Forms["/partners/{partner}/product/icon"] = form()                  // without a file
	registry.Forms["/partners/{partner}/plans/new"] = form("tier", "none")
	registry.Forms["/partners/{partner}/plans/change-price"] = form("plan_change_price", "none")
	registry.Forms["/partners/{partner}/plans/{tier}"] = form("name", "")
	registry.Forms["/partners/{partner}/plans/{tier}/remove"] = form()
	registry.Forms["/partners/{partner}/credentials/{credential}/rotate"] = form("overlap_s", "-1")
}

// contact returns the id of a contact of Tide.
func (h *harness) contact() string {
	h.Helper()
	_, list, err := h.Profiles.Get(h.Context(), h.tide.ID)
	h.Must(err)
	if len(list) > 0 {
		return strconv.FormatInt(list[0].ID, 10)
	}
	c, err := h.Profiles.AddContact(h.Context(), apptest.Tester, h.tide.ID, "Ops", "ops@tide.example")
	h.Must(err)
	return strconv.FormatInt(c.ID, 10)
}

// credential returns the id of a secret of Tide that can be rotated.
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
