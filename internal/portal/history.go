package portal

import (
	"net/http"
	"strconv"

	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/ui"
)

const auditPath = "/audit"

// historyPage is the number of entries per page of the history.
const historyPage = 50

// historyView lists the acts on the partner.
type historyView struct {
	List   ui.Timeline
	Newest string // the first page; "" if this is it
	Next   string // older entries, "" for none
	Export string
	Call   ui.Curl
}

func (h *Handler) history(w http.ResponseWriter, r *http.Request, v *Visit) error {
	span := audit.Span{Limit: historyPage}
	span.Before, _ = strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // not a number: the first page
	list, more, err := h.Audit.History(r.Context(), v.Partner.ID, span)
	if err != nil {
		return err
	}
	names, err := h.historyNames(r.Context(), list)
	if err != nil {
		return err
	}
	view := historyView{
		List: ui.Timeline{Label: "What was done, newest first"}, Export: exportURL(r, v, export.Audit),
		Call: h.call("The same by API", http.MethodGet, "/v2/audit", ui.Param{Name: "limit", Value: historyPage}),
	}
	for _, e := range list {
		view.List.Entries = append(
			view.List.Entries, ui.TimelineEntry{At: e.At, Title: e.Sentence(names), Text: origin(e, names)},
		)
	}
	if span.Before > 0 {
		view.Newest = v.Path(auditPath)
	}
	if more {
		view.Next = v.Path(auditPath+"?before=%d", list[len(list)-1].ID)
	}
	return h.render(w, r, v, "audit", ui.View{Title: "Audit", Data: view})
}
