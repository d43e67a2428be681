package api

import (
	"net/http"
	"net/url"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

func (a *API) listResponses(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.LicenseResponses(w, r, a.named(r, p))
}

// LicenseResponses answers the webhook responses of a license, for whoever asks;
// see LicenseEvents.
func (a *API) LicenseResponses(w http.ResponseWriter, r *http.Request, find func() (license.License, error)) error {
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

	l, err := find()
	if err != nil {
		return err
	}
	list, err := a.History.Responses(r.Context(), l.ID, success, asked)
	if err != nil {
		return err
	}

	wire.PageHeaders(w, r, asked, list.Total, list.More)
	return wire.AppendTagged(w, r, "", func(b []byte) []byte { return appendResponses(b, list.Responses) })
}

// successOf reads the parameter success; without it, it is nil.
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
