package operator

import (
	"context"
	"io"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/export"
	"claviger/internal/wire"
)

// exportRoutes returns the routes of exports.
func (o *Operator) exportRoutes(list func(string, wire.Handler[account.Token]) wire.Route) []wire.Route {
	return []wire.Route{
		list("/exports/licenses", o.exportList(export.Licenses)),
		list("/exports/purchases", o.exportList(export.Purchases)),
		list("/exports/orders", o.exportList(export.Orders)),
		list("/exports/events", o.exportList(export.Events)),
		list("/exports/audit", o.exportList(export.Audit)),
		list("/exports/ledger", o.exportList(export.Ledger)),
		list("/exports/revenue", o.exportList(export.Revenue)),
	}
}

// exportList returns the handler that answers with a whole list as a file.
func (o *Operator) exportList(kind export.Kind) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, t account.Token) error { return o.export(w, r, t, kind) }
}

// export answers with a list as a file. It looks up the token again before each batch, so that a
// revoked one gets no more.
func (o *Operator) export(w http.ResponseWriter, r *http.Request, t account.Token, kind export.Kind) error {
	q, err := wire.Query(r, append([]string{"format"}, export.Parameters(kind)...)...)
	if err != nil {
		return err
	}
	format, err := export.ParseFormat(q.Get("format"))
	if err != nil {
		return err
	}
	table, err := o.Exports.OperatorTable(r.Context(), kind, q)
	if err != nil {
		return err
	}
	return o.send(w, r, t, table, format, account.Read)
}

// send answers with a file to a token that has a scope all the while.
func (o *Operator) send(
	w http.ResponseWriter, r *http.Request, t account.Token, table export.Table, format export.Format,
	scope account.Scope,
) error {
	file := wire.File{Name: export.FileName(table, format, o.Exports.Now()), ContentType: format.ContentType()}
	return wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error {
		return o.Exports.Run(
			ctx,
			to,
			export.Job{Table: table, Format: format, By: actor(t), Check: func(ctx context.Context) error {
				now, err := o.authenticate(r.WithContext(ctx))
				if err != nil {
					return err
				}
				return may(scope)(now)
			}},
		)
	})
}
