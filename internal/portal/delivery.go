package portal

import (
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// delivery shows a delivery with its last attempt, updated live, or with the attempt of the path,
// which is fixed.
func (h *Handler) delivery(r *http.Request, v *Visit) (area.Shown, error) {
	event := id(r, "event")
	attempt := int64(0)
	if r.PathValue("attempt") != "" {
		if attempt = id(r, "attempt"); attempt <= 0 {
			return area.Shown{}, NotFound()
		}
	}
	if _, _, err := h.History.Exchange(r.Context(), v.Partner.ID, event, attempt); err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.deliveries, Topic: event, Page: "delivery",
		View: func(r *http.Request) (ui.View, string, error) {
			d, e, err := h.History.Exchange(r.Context(), v.Partner.ID, event, attempt)
			if err != nil {
				return ui.View{}, "", missing(err)
			}
			pages, err := h.deliveryPages(r, v, d)
			if err != nil {
				return ui.View{}, "", err
			}
			view, says := pages.View(d, e)
			return view, says, nil
		},
	}, nil
}

// deliveryPages returns the builder of the pages about a delivery.
func (h *Handler) deliveryPages(r *http.Request, v *Visit, d history.Detail) (area.DeliveryPages, error) {
	known, err := h.peopleOf(r.Context(), v, area.Senders(d))
	return area.DeliveryPages{
		Path: v.Path, License: licensesPath + "/%s", Call: h.call, API: "/v2", Events: "/v2", Whose: "Your",
		Brand: v.Partner.Brand,
		Who:   known.who, May: v.Covers(partner.Developer), List: area.Query(r.URL.Query(), "since"),
	}, err
}

// sendView builds the page that asks whether to resend an event.
func (h *Handler) sendView(r *http.Request, v *Visit) (confirmView, history.Detail, error) {
	d, err := h.History.Delivery(r.Context(), v.Partner.ID, id(r, "event"))
	if err != nil {
		return confirmView{}, d, missing(err)
	}
	pages, err := h.deliveryPages(r, v, d)
	return pages.SendAgain(d, h.Now()), d, err
}

func (h *Handler) askSend(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.sendView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) send(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, d, err := h.sendView(r, v)
	if err != nil {
		return err
	}
	if err := h.Webhooks.Redeliver(r.Context(), v.Actor(), v.Partner.ID, d.EventID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(
		w,
		r,
		v,
		fmt.Sprintf("%s/%d%s", deliveriesPath, d.EventID, area.Query(r.URL.Query())),
		"The event is on its way. What your server answers stands below as soon as it comes; without scripts, "+
			"reload the page.",
	)
}
