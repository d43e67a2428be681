package api

import (
	"context"
	"io"
	"net/http"

	"claviger/internal/export"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// exportList returns the handler that answers with a whole list of a partner as a file.
func (a *API) exportList(kind export.Kind) wire.Handler[partner.Partner] {
	return func(w http.ResponseWriter, r *http.Request, p partner.Partner) error { return a.export(w, r, p, kind) }
}

// export answers with a list as a file.
func (a *API) export(w http.ResponseWriter, r *http.Request, p partner.Partner, kind export.Kind) error {
	table, format, err := a.ExportTable(r, p.ID, kind)
	if err != nil {
		return err
	}
	return a.sendExport(w, r, p, table, format)
}

// exportStatement answers with a statement as a file.
func (a *API) exportStatement(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	table, format, err := a.StatementTable(r, p.ID)
	if err != nil {
		return err
	}
	return a.sendExport(w, r, p, table, format)
}

// sendExport looks up the API key again before each batch, so that a revoked one gets no more.
func (a *API) sendExport(
	w http.ResponseWriter, r *http.Request, p partner.Partner, table export.Table, format export.Format,
) error {
	file := wire.File{Name: export.FileName(table, format, a.Exports.Now()), ContentType: format.ContentType()}
	return wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error {
		return a.Exports.Run(
			ctx,
			to,
			export.Job{Table: table, Format: format, By: actor(p), Check: func(ctx context.Context) error {
				_, err := a.authenticate(r.WithContext(ctx))
				return err
			}},
		)
	})
}
