package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// exportable are the lists that can be exported.
var exportable = []struct {
	kind        export.Kind
	label, lead string
	order       string // "": newest first
}{
	{kind: export.Licenses, label: "Licenses", lead: "Licenses with their owners."},
	{kind: export.Purchases, label: "Purchases", lead: "Purchases and plan changes with their buyers."},
	{kind: export.Orders, label: "Orders", lead: "Orders of the shop with their buyers and payments."},
	{kind: export.Events, label: "Events", lead: "Events of licenses."},
	{kind: export.Audit, label: "Audit", lead: "Who did what."},
	{kind: export.Ledger, label: "Ledger", lead: "Postings of the ledger, with a row for each line."},
	{
		kind: export.Revenue, label: "Revenue", lead: "Revenue, refunds, fees and shares of each day (UTC).",
		order: "By partner, day, plan and currency",
	},
}

// exportFields are the filters of exports, by API parameter.
var exportFields = map[string]ui.Field{
	"partner_id":  {Label: "Partner's number"},
	"license_key": {Label: "License key"},
	"email":       {Label: "Email address"},
	"external_id": {Label: "Reference of the purchase"},
	"status": {Label: "Status", Type: "select", Options: options(
		event.Inactive.String(), event.Active.String(), event.Deactivated.String())},
	"state": {Label: "State", Type: "select", Options: options(payment.OrderStates()...)},
	"event": {
		Label: "Event", Type: "select",
		Options: options(event.Purchase.String(), event.Activate.String(), event.Deactivate.String()),
	},
	"kind":    {Label: "Kind", Type: "select", Options: options(ledgerKinds()...)},
	"tier":    {Label: "Tier"},
	"subject": {Label: "Subject", Hint: "such as partner:1 or license:<key>"},
	"action":  {Label: "Action", Hint: "such as license.hold"},
	"actor":   {Label: "Who", Hint: "such as user:3, token, partner:1 or system"},
	"from":    {Label: "From", Type: "datetime-local"},
	"to":      {Label: "To", Type: "datetime-local"},
}

func ledgerKinds() (names []string) {
	for _, k := range ledger.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// options returns the options of a field; the first means no choice.
func options(values ...string) []ui.Option {
	list := []ui.Option{{Label: "All"}}
	for _, v := range values {
		list = append(list, ui.Option{Value: v, Label: v})
	}
	return list
}

// exportPages builds the pages of exports.
func (p *Reports) exportPages() *area.Exports {
	x := &area.Exports{Exporter: p.Exports, Live: p.Live}
	for _, e := range exportable {
		x.Lists = append(x.Lists, area.ExportList{
			Kind: e.kind, Label: e.label, Lead: e.lead, Order: e.order,
			Read: func(r *http.Request, _ area.Visit) (area.ExportQuery, error) { return p.exportQuery(r, e.kind) },
		})
	}
	return x
}

// exportQuery reads the filters of an export. They are those of the API.
func (p *Reports) exportQuery(r *http.Request, kind export.Kind) (area.ExportQuery, error) {
	q := area.ExportQuery{Call: p.call(
		"The same file by API", http.MethodGet, "/operator/v1/exports/"+string(kind),
		ui.Param{Name: "format", Value: string(export.CSV)},
	)}
	asked := url.Values{}
	for _, name := range export.Parameters(kind) {
		field := exportFields[name]
		field.Name = exportParam(name)
		field.Value = area.CleanQuery(r.URL.Query().Get(field.Name))
		var refused error
		if field.Type == "datetime-local" {
			var at time.Time
			if at, refused = ui.QueryTime(r, name); refused == nil && !at.IsZero() {
				asked.Set(name, at.Format(time.RFC3339Nano))
			}
			field.SetTime(r, at)
		} else if field.Value != "" {
			asked.Set(name, field.Value)
		}
		q.Form.Fields = append(q.Form.Fields, field)
		if refused != nil {
			q.Form.Refuse(refused)
		}
		if value := asked.Get(name); value != "" {
			q.Call.Query = append(q.Call.Query, ui.Param{Name: name, Value: value})
		}
	}
	if q.Form.Failed() {
		return q, nil
	}
	var err error
	q.Table, err = p.Exports.OperatorTable(r.Context(), kind, asked)
	if f := fault.Of(err); f != nil {
		named := *f
		named.Field = exportParam(f.Field)
		q.Form.Refuse(&named)
		return q, nil
	}
	return q, err
}

// exportParam maps an API parameter to its name in a page's URL, where "status" is the id of
// another element.
func exportParam(name string) string {
	if name == "status" {
		return "license_status"
	}
	return name
}

// exportURL returns the export page of a list with its filters, under the names that they have
// there.
func exportURL(r *http.Request, v *Visit, kind export.Kind) string {
	q := r.URL.Query()
	if q.Has("key") {
		q.Set("license_key", q.Get("key"))
		q.Del("key")
	}
	if id := strings.TrimSpace(q.Get("id")); kind == export.Audit && id != "" && q.Get("actor") != audit.BySystem {
		q.Set("actor", q.Get("actor")+":"+id)
	}
	q.Del("id")
	return area.ExportURL(v.Path(exportsPath), kind, q)
}
