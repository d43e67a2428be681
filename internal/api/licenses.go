package api

import (
	"net/http"
	"net/url"
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

	key := pageKey{p.ID, filter.Status, asked}
	if k, ok := a.kept.find(key, p.Revision); ok && filter.UpdatedSince.IsZero() {
		wire.PageHeaders(w, r, asked, k.total, false)
		return wire.Raw(w, http.StatusOK, k.body)
	}
	list, err := a.Licenses.List(r.Context(), p.ID, filter, asked)
	if err != nil {
		return err
	}

	if filter.UpdatedSince.IsZero() {
		wire.PageHeaders(w, r, asked, list.Total, list.More)
	} else {
		next := ""
		if list.More {
			next = cursorOf(list.Next)
		}
		wire.CursorHeaders(w, r, asked, next)
	}
	return wire.Append(w, http.StatusOK, func(b []byte) []byte {
		b = a.text.licenses(b, list.Licenses)
		if filter.UpdatedSince.IsZero() {
			a.kept.keep(key, p.Revision, list.Total, b)
		}
		return b
	})
}

func (a *API) readLicense(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	l, err := a.Licenses.OfPartner(r.Context(), p.ID, r.PathValue("license_key"))
	if err != nil {
		return err
	}
	return wire.Append(w, http.StatusOK, func(b []byte) []byte { return a.text.license(b, &l) })
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
	return wire.JSON(w, http.StatusOK, explanation{
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
