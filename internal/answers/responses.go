package answers

import (
	"context"
	"net/http"
	"net/url"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// LicenseResponses answers with the webhook responses of a license; see LicenseEvents.
func (c *Common) LicenseResponses(
	w http.ResponseWriter, r *http.Request, find func(context.Context) (license.License, error),
) error {
	q, err := wire.Query(r, "success", "page", "limit", "order")
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	success, err := successOf(q)
	if err != nil {
		return err
	}

	l, err := find(r.Context())
	if err != nil {
		return err
	}
	list, err := c.History.Responses(r.Context(), l.ID, success, asked)
	if err != nil {
		return err
	}

	wire.PageHeaders(w, r, asked, list.Total, list.More)
	return wire.AppendTagged(w, r, "", func(b []byte) []byte { return appendResponses(b, list.Responses) })
}

// successOf reads the parameter success, nil if missing.
func successOf(q url.Values) (*bool, error) {
	if !q.Has("success") {
		return nil, nil
	}
	switch q.Get("success") {
	case "true":
		return new(true), nil
	case "false":
		return new(false), nil
	}
	return nil, fault.Parameter("success", "must be true or false.")
}
