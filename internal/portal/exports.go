package portal

import (
	"net/http"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const exportsPath = area.ExportsPath

// exportTable has the pages about whole lists as files.
func (h *Handler) exportTable() []Route {
	return []Route{
		row(Page, exportsPath, partner.Viewer, func(w http.ResponseWriter, r *http.Request, v *Visit) error { return h.exportPages().Show(w, r, v) }),
		row(Act, exportsPath, partner.Viewer, func(w http.ResponseWriter, r *http.Request, v *Visit) error { return h.exportPages().Send(w, r, v) }),
		row(Stream, exportsPath+"/live", partner.Viewer, func(w http.ResponseWriter, r *http.Request, v *Visit) error { return h.exportPages().Tell(w, r, v) }),
	}
}

// exportPages are the pages of exports: each list is read by the filters of its own page,
// and never has a buyer in it.
func (h *Handler) exportPages() *area.Exports[Needs, *Visit] {
	return &area.Exports[Needs, *Visit]{Area: h.area, Exporter: h.Exports, Live: h.Live.exports, Lists: []area.ExportList[*Visit]{
		{Kind: export.Licenses, Label: "Licenses", Lead: "The licenses that were sold for your application.", Read: h.exportLicenses},
		{Kind: export.Deliveries, Label: "Deliveries", Lead: "Events on their way to your webhook URL, each with its last attempt.", Read: h.exportDeliveries},
		{Kind: export.Requests, Label: "Requests", Lead: "Calls that were refused in the last seven days.", Read: h.exportRequests},
		{Kind: export.Audit, Label: "Audit", Lead: "What was done to your application.", Read: h.exportAudit},
	}}
}

// fileCall is the API call for the file of a list.
func (h *Handler) fileCall(kind export.Kind, params ...ui.Param) ui.Curl {
	return h.call("The same file by API", http.MethodGet, "/v2/exports/"+string(kind), append([]ui.Param{{Name: "format", Value: string(export.CSV)}}, params...)...)
}

func (h *Handler) exportLicenses(r *http.Request, v *Visit) (area.ExportQuery, error) {
	tiers, err := h.Partners.HighestTier(r.Context(), v.Partner.ID)
	if err != nil {
		return area.ExportQuery{}, err
	}
	find, form := licenseFind(r, tiers)
	return area.ExportQuery{Table: h.Exports.PartnerLicenses(v.Partner.ID, find), Form: form, Call: h.fileCall(export.Licenses, licenseParams(find)...)}, nil
}

func (h *Handler) exportDeliveries(r *http.Request, v *Visit) (area.ExportQuery, error) {
	a, err := h.askedFor(r, v)
	return area.ExportQuery{Table: h.Exports.PartnerDeliveries(v.Partner.ID, a.Filter), Form: a.Form, Call: h.fileCall(export.Deliveries, a.Params()...)}, err
}

func (h *Handler) exportRequests(r *http.Request, v *Visit) (area.ExportQuery, error) {
	filter, form := requestFilter(r)
	return area.ExportQuery{Table: h.Exports.PartnerRequests(v.Partner.ID, filter), Form: form, Call: h.fileCall(export.Requests, requestParams(r, filter)...)}, nil
}

func (h *Handler) exportAudit(_ *http.Request, v *Visit) (area.ExportQuery, error) {
	return area.ExportQuery{Table: h.Exports.PartnerAudit(v.Partner.ID, audit.Span{}), Call: h.fileCall(export.Audit)}, nil
}

// exportURL is where a list is exported with its filters.
func exportURL(r *http.Request, v *Visit, kind export.Kind) string {
	return area.ExportURL(v.Path(exportsPath), kind, r.URL.Query())
}
