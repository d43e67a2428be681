package answers

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/wire"
)

// PartnerLicenses answers with the licenses of a partner that match a search.
func (c *Common) PartnerLicenses(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, "key", "status", "tier", "from", "to", "cursor", "page", "limit")
	if err != nil {
		return err
	}
	asked, err := cursorPage(q)
	if err != nil {
		return err
	}
	find, before, err := licenseFind(q)
	if err != nil {
		return err
	}
	found, err := c.Licenses.Find(r.Context(), partnerID, find, before, int(asked.Limit))
	if err != nil {
		return err
	}
	next := ""
	if found.Next > 0 {
		next = strconv.FormatInt(found.Next, 10)
	}
	wire.CursorHeaders(w, r, asked, next)
	searchedTo(w, found.SearchedTo)
	text := NewLicenseText(c.PublicURL)
	return wire.Raw(w, http.StatusOK, text.Licenses(nil, found.Licenses))
}

// licenseFind reads the filters of a search.
func licenseFind(q url.Values) (f license.Find, before int64, err error) {
	if f.Key = q.Get("key"); f.Key == "" && q.Has("key") {
		return f, 0, fault.Parameter("key", "is empty; give it a value, or leave it out.")
	}
	if f.Status, err = StatusOf(q); err != nil {
		return f, 0, err
	}
	if q.Has("tier") {
		if f.Tier, err = strconv.Atoi(q.Get("tier")); err != nil || f.Tier < 1 {
			return f, 0, fault.Parameter("tier", "must be a whole number from 1.")
		}
	}
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if q.Has(name) {
			at, err := wire.ParseTime(q.Get(name))
			if err != nil {
				return f, 0, notTime(name)
			}
			*to = Storable(at)
		}
	}
	if q.Has("cursor") {
		if before, err = strconv.ParseInt(q.Get("cursor"), 10, 64); err != nil || before < 1 {
			return f, 0, errCursor()
		}
	}
	return f, before, nil
}
