package answers

import (
	"net/http"

	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/wire"
)

// ExportTable reads the rows to export, with the filters of the list itself.
func (c *Common) ExportTable(
	r *http.Request,
	partnerID int64,
	kind export.Kind,
) (t export.Table, f export.Format, err error) {
	names := map[export.Kind][]string{
		export.Licenses: {"key", "status", "tier", "from", "to"}, export.Deliveries: deliveryFilters,
		export.Requests: {"status", "code", "path", "request_id", "license_key", "from", "to"},
		export.Revenue:  {"from", "to"},
	}[kind]
	q, err := wire.Query(r, append([]string{"format"}, names...)...)
	if err != nil {
		return t, f, err
	}
	if f, err = export.ParseFormat(q.Get("format")); err != nil {
		return t, f, err
	}
	switch kind {
	case export.Licenses:
		find, _, err := licenseFind(q)
		return c.Exports.PartnerLicenses(partnerID, find), f, err
	case export.Deliveries:
		filter, _, err := c.deliveryFilter(r, partnerID, q.Get, q.Has)
		return c.Exports.PartnerDeliveries(partnerID, filter), f, err
	case export.Requests:
		filter, err := requestFilter(q)
		return c.Exports.PartnerRequests(partnerID, filter), f, err
	case export.Audit:
		return c.Exports.PartnerAudit(partnerID, audit.Span{}), f, nil
	case export.Revenue:
		w, err := export.RevenueWalk(q)
		return c.Exports.PartnerRevenue(partnerID, w), f, err
	case export.Purchases, export.Orders, export.Events, export.Ledger, export.Statement,
		export.Payout:
	}
	return t, f, export.UnknownKind(export.PartnerKinds)
}

// StatementTable reads the statement of a partner to export, and the format of the file.
func (c *Common) StatementTable(r *http.Request, partnerID int64) (t export.Table, f export.Format, err error) {
	q, err := wire.Query(r, "format")
	if err != nil {
		return t, f, err
	}
	if f, err = export.ParseFormat(q.Get("format")); err != nil {
		return t, f, err
	}
	s, err := c.PathStatement(r, partnerID)
	if err != nil {
		return t, f, err
	}
	return c.Exports.Statement(s), f, nil
}
