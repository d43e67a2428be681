package portal

import (
	"net/http"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/revenue"
	"claviger/internal/ui"
)

const exportsPath = area.ExportsPath

// exportPages returns the pages of exports. Each list uses the filters of its own page and never
// contains a buyer.
func (h *Handler) exportPages() *area.Exports {
	return &area.Exports{
		Exporter: h.Exports,
		Live:     h.Live.exports,
		Lists: []area.ExportList{
			{
				Kind:  export.Licenses,
				Label: "Licenses",
				Lead:  "The licenses that were sold for your application.",
				Read:  of(h.exportLicenses),
			},
			{
				Kind:  export.Deliveries,
				Label: "Deliveries",
				Lead:  "Events on their way to your webhook URL, each with its last attempt.",
				Read:  of(h.exportDeliveries),
			},
			{
				Kind:  export.Requests,
				Label: "Requests",
				Lead:  "Calls that were refused in the last seven days.",
				Read:  of(h.exportRequests),
			},
			{Kind: export.Audit, Label: "Audit", Lead: "What was done to your application.", Read: of(h.exportAudit)},
			{
				Kind:  export.Revenue,
				Label: "Revenue",
				Lead:  "Your revenue, refunds, fees and earnings of each day (UTC).",
				Order: "By day, plan and currency",
				Read:  of(h.exportRevenue),
			},
		},
	}
}

// fileCall returns the API call for the file of a list.
func (h *Handler) fileCall(kind export.Kind, params ...ui.Param) ui.Curl {
	query := append([]ui.Param{{Name: "format", Value: string(export.CSV)}}, params...)
	return h.call("The same file by API", http.MethodGet, "/v2/exports/"+string(kind), query...)
}

func (h *Handler) exportLicenses(r *http.Request, v *Visit) (area.ExportQuery, error) {
	tiers, err := h.Partners.HighestTier(r.Context(), v.Partner.ID)
	if err != nil {
		return area.ExportQuery{}, err
	}
	find, form := licenseFind(r, tiers)
	return area.ExportQuery{
		Table: h.Exports.PartnerLicenses(v.Partner.ID, find),
		Form:  form,
		Call:  h.fileCall(export.Licenses, licenseParams(find)...),
	}, nil
}

func (h *Handler) exportDeliveries(r *http.Request, v *Visit) (area.ExportQuery, error) {
	a, err := h.askedFor(r, v)
	return area.ExportQuery{
		Table: h.Exports.PartnerDeliveries(v.Partner.ID, a.Filter),
		Form:  a.Form,
		Call:  h.fileCall(export.Deliveries, a.Params()...),
	}, err
}

func (h *Handler) exportRequests(r *http.Request, v *Visit) (area.ExportQuery, error) {
	filter, form := requestFilter(r)
	return area.ExportQuery{
		Table: h.Exports.PartnerRequests(v.Partner.ID, filter),
		Form:  form,
		Call:  h.fileCall(export.Requests, requestParams(r, filter)...),
	}, nil
}

func (h *Handler) exportAudit(_ *http.Request, v *Visit) (area.ExportQuery, error) {
	return area.ExportQuery{
		Table: h.Exports.PartnerAudit(v.Partner.ID, audit.Span{}),
		Call:  h.fileCall(export.Audit),
	}, nil
}

func (h *Handler) exportRevenue(_ *http.Request, v *Visit) (area.ExportQuery, error) {
	return area.ExportQuery{
		Table: h.Exports.PartnerRevenue(v.Partner.ID, revenue.Walk{}),
		Call:  h.fileCall(export.Revenue),
	}, nil
}

// exportURL returns the page that exports a list with its filters.
func exportURL(r *http.Request, v *Visit, kind export.Kind) string {
	return area.ExportURL(v.Path(exportsPath), kind, r.URL.Query())
}
