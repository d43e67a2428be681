package api

import (
	"net/http"
	"net/url"
	"strconv"

	"claviger/internal/answers"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

func (a *API) listLicenses(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	q, err := wire.Query(r, "status", "updated_since", "cursor", "page", "limit", "order")
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	filter, err := licenseFilter(q)
	if err != nil {
		return err
	}

	if !filter.UpdatedSince.IsZero() {
		return a.listChanges(w, r, p, filter, asked)
	}
	tag := a.tag(r, p)
	if wire.NotModified(w, r, tag) {
		return nil
	}
	list, err := a.Licenses.List(r.Context(), p.ID, filter, asked)
	if err != nil {
		return err
	}
	wire.PageHeaders(w, r, asked, list.Total, list.More)
	return wire.AppendTagged(w, r, tag, func(b []byte) []byte { return a.text.Licenses(b, list.Licenses) })
}

// listChanges lists licenses by updated_since, with cursors. It has no ETag: such requests are for
// changes, not for caching.
func (a *API) listChanges(
	w http.ResponseWriter,
	r *http.Request,
	p partner.Partner,
	filter license.Filter,
	asked paging.Page,
) error {
	list, err := a.Licenses.List(r.Context(), p.ID, filter, asked)
	if err != nil {
		return err
	}
	next := ""
	if list.More {
		next = cursorOf(list.Next)
	}
	wire.CursorHeaders(w, r, asked, next)
	return wire.Append(w, http.StatusOK, func(b []byte) []byte { return a.text.Licenses(b, list.Licenses) })
}

// tag returns the entity tag of an answer with only licenses. The revision is read with the key,
// before the licenses: if one changes in between, the answer has the earlier tag, which no later
// request matches.
func (a *API) tag(r *http.Request, p partner.Partner) string {
	return wire.Tag(
		strconv.FormatInt(p.ID, 10),
		strconv.FormatInt(p.Revision.Number, 10),
		strconv.FormatInt(p.Revision.At.UnixNano(), 10),
		r.URL.Path,
		r.URL.RawQuery,
		a.PublicURL,
		a.Version,
	)
}

func (a *API) readLicense(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	tag := a.tag(r, p)
	if wire.NotModified(w, r, tag) {
		return nil
	}
	l, err := a.Licenses.OfPartner(r.Context(), p.ID, r.PathValue("license_key"))
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		return a.testLicense(w, r, p, err)
	case err != nil:
		return err
	}
	return wire.AppendTagged(w, r, tag, func(b []byte) []byte { return a.text.License(b, &l) })
}

// licenseFilter reads the filters of the license list.
func licenseFilter(q url.Values) (f license.Filter, err error) {
	if f.Status, err = answers.StatusOf(q); err != nil {
		return f, err
	}
	if q.Has("updated_since") {
		at, err := wire.ParseTime(q.Get("updated_since"))
		if err != nil {
			return f, fault.Parameter("updated_since",
				"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written %%2B.")
		}
		f.UpdatedSince = answers.Storable(at)
	}
	f.After, err = positionOf(q)
	return f, err
}
