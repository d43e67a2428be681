package api

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/event"
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
	return wire.AppendTagged(w, r, tag, func(b []byte) []byte { return a.text.licenses(b, list.Licenses) })
}

// listChanges lists by updated_since, whose pages begin at a cursor. It has no entity
// tag: who asks so wants what has changed.
func (a *API) listChanges(w http.ResponseWriter, r *http.Request, p partner.Partner, filter license.Filter, asked paging.Page) error {
	list, err := a.Licenses.List(r.Context(), p.ID, filter, asked)
	if err != nil {
		return err
	}
	next := ""
	if list.More {
		next = cursorOf(list.Next)
	}
	wire.CursorHeaders(w, r, asked, next)
	return wire.Append(w, http.StatusOK, func(b []byte) []byte { return a.text.licenses(b, list.Licenses) })
}

// tag is the entity tag of an answer that shows licenses and nothing else. It was read
// with the key, before the licenses: if one changes in between, the answer has the tag
// of the state before, which no later request matches.
func (a *API) tag(r *http.Request, p partner.Partner) string {
	return wire.Tag(strconv.FormatInt(p.ID, 10), strconv.FormatInt(p.Revision.Number, 10), strconv.FormatInt(p.Revision.At.UnixNano(), 10),
		r.URL.Path, r.URL.RawQuery, a.PublicURL, a.Version)
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
	return wire.AppendTagged(w, r, tag, func(b []byte) []byte { return a.text.license(b, &l) })
}

// explanation is why a license has its status, as it goes over the wire.
type explanation struct {
	LicenseKey  string   `json:"license_key"`
	Status      string   `json:"status"`
	Tier        int      `json:"tier"`
	Explanation []string `json:"explanation"`
}

func (a *API) explainLicense(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.ExplainLicense(w, r, a.named(r, p))
}

// named finds the license of a partner that the path names.
func (a *API) named(r *http.Request, p partner.Partner) func() (license.License, error) {
	return func() (license.License, error) {
		return a.Licenses.OfPartner(r.Context(), p.ID, r.PathValue("license_key"))
	}
}

// ExplainLicense answers why a license has its status, for whoever asks; see
// LicenseEvents.
func (a *API) ExplainLicense(w http.ResponseWriter, r *http.Request, find func() (license.License, error)) error {
	l, err := find()
	if err != nil {
		return err
	}
	sentences, err := a.Licenses.Explain(r.Context(), l)
	if err != nil {
		return err
	}
	return wire.JSONTagged(w, r, explanation{
		LicenseKey:  l.Key,
		Status:      l.Status.String(),
		Tier:        l.Tier,
		Explanation: sentences,
	})
}

// licenseFilter reads the filters of the license list.
func licenseFilter(q url.Values) (f license.Filter, err error) {
	if f.Status, err = statusOf(q); err != nil {
		return f, err
	}
	if q.Has("updated_since") {
		at, err := wire.ParseTime(q.Get("updated_since"))
		if err != nil {
			return f, fault.Parameter("updated_since",
				"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written %%2B.")
		}
		f.UpdatedSince = storable(at)
	}
	f.After, err = positionOf(q)
	return f, err
}

// statusOf reads the parameter status; without it, it is zero. An empty one is
// refused: whoever sends it meant to filter and would get everything.
func statusOf(q url.Values) (event.Status, error) {
	s, err := event.ParseStatus(q.Get("status"))
	if err == nil && s == 0 && q.Has("status") {
		err = fault.Parameter("status", "is empty; send inactive, active or deactivated, or leave it out.")
	}
	return s, err
}

// The times that can be stored: nanoseconds since 1970 in 63 bits.
var (
	firstTime = time.Unix(0, 1).UTC()
	lastTime  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// storable moves a bound that no stored time can reach to where it can be
// stored; it still lets all through, or none.
func storable(t time.Time) time.Time {
	switch {
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return t
}
