package api

import (
	"context"
	"io"
	"net/http"

	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// exportList is the handler that answers a whole list of a partner as a file.
func (a *API) exportList(kind export.Kind) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error { return a.export(w, r, p, kind) }
}

// export answers a list as a file. The API key is looked up again before each batch: one
// that was revoked gets no more of it.
func (a *API) export(w http.ResponseWriter, r *http.Request, p partner.Partner, kind export.Kind) error {
	table, format, err := a.exportTable(r, p.ID, kind)
	if err != nil {
		return err
	}
	file := wire.File{Name: export.FileName(table, format, a.Exports.Now()), ContentType: format.ContentType()}
	return wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error {
		return a.Exports.Run(ctx, to, export.Job{Table: table, Format: format, By: actor(p), Check: func(ctx context.Context) error {
			_, err := a.authenticate(r.WithContext(ctx))
			return err
		}})
	})
}

// exportTable reads which rows are exported: by the filters of the list itself.
func (a *API) exportTable(r *http.Request, partnerID int64, kind export.Kind) (t export.Table, f export.Format, err error) {
	names := map[export.Kind][]string{
		export.Licenses: {"key", "status", "tier", "from", "to"}, export.Deliveries: deliveryFilters,
		export.Requests: {"status", "code", "path", "request_id", "license_key", "from", "to"},
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
		return a.Exports.PartnerLicenses(partnerID, find), f, err
	case export.Deliveries:
		filter, _, err := a.deliveryFilter(r, partnerID, q.Get, q.Has)
		return a.Exports.PartnerDeliveries(partnerID, filter), f, err
	case export.Requests:
		filter, err := requestFilter(q)
		return a.Exports.PartnerRequests(partnerID, filter), f, err
	case export.Audit:
		return a.Exports.PartnerAudit(partnerID, audit.Span{}), f, nil
	case export.Purchases, export.Events:
	}
	return t, f, export.UnknownKind(export.PartnerKinds)
}
