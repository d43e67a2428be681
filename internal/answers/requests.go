package answers

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/requestlog"
	"claviger/internal/wire"
)

// refusedAnswer is a rejected call, or a group of them, on the wire.
type refusedAnswer struct {
	At            wire.Time `json:"at"`
	FirstAt       wire.Time `json:"first_at"`
	Count         int64     `json:"count"`
	Grouped       bool      `json:"grouped"`
	Authenticated bool      `json:"authenticated"`
	Method        string    `json:"method"`
	Path          string    `json:"path"`
	Status        int       `json:"status"`
	Code          string    `json:"code"`
	Cause         string    `json:"cause,omitempty"`
	Message       string    `json:"message"`
	RequestID     string    `json:"request_id"`
	LicenseKey    string    `json:"license_key,omitempty"`
}

func refusedOf(e requestlog.Entry) refusedAnswer {
	return refusedAnswer{
		At: wire.Time(e.At), FirstAt: wire.Time(e.FirstAt), Count: e.Count, Grouped: e.Grouped, Authenticated: e.Proven,
		Method: e.Method, Path: e.Path, Status: e.Status, Code: e.Code, Cause: e.Cause, Message: e.Message,
		RequestID: e.RequestID, LicenseKey: e.License,
	}
}

// PartnerRequests answers with the rejected calls of a partner.
func (c *Common) PartnerRequests(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(
		r,
		"status",
		"code",
		"path",
		"request_id",
		"license_key",
		"from",
		"to",
		"cursor",
		"page",
		"limit",
	)
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	if asked.Number > 1 {
		return fault.Parameter("page", "has no number here beyond 1. Follow the next link of a page unchanged.")
	}
	filter, err := requestFilter(q)
	if err != nil {
		return err
	}
	filter.Limit = asked.Limit
	list, err := c.Requests.List(r.Context(), partnerID, filter)
	if err != nil {
		return err
	}
	wire.CursorHeaders(w, r, asked, list.Next.String())
	return wire.JSON(w, http.StatusOK, wire.ListOf(list.Entries, refusedOf))
}

// requestFilter reads the filters of the list of rejected calls.
func requestFilter(q url.Values) (requestlog.Filter, error) {
	f := requestlog.Filter{
		Code:      q.Get("code"),
		Path:      q.Get("path"),
		RequestID: q.Get("request_id"),
		License:   q.Get("license_key"),
	}
	for _, name := range []string{"code", "path", "request_id", "license_key"} {
		if q.Has(name) && q.Get(name) == "" {
			return f, fault.Parameter(name, "is empty; give it a value, or leave it out.")
		}
	}
	if q.Has("status") {
		n, err := strconv.Atoi(q.Get("status"))
		if err != nil || n < 300 || n > 599 {
			return f, fault.Parameter("status", "must be an HTTP status from 300 to 599.")
		}
		f.Status = n
	}
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if !q.Has(name) {
			continue
		}
		at, err := wire.ParseTime(q.Get(name))
		if err != nil {
			return f, fault.Parameter(
				name,
				"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written %%2B.",
			)
		}
		*to = Storable(at)
	}
	if q.Has("cursor") {
		after, ok := requestlog.ParsePosition(q.Get("cursor"))
		if !ok {
			return f, fault.Parameter(
				"cursor",
				"is not a cursor of this list. Follow the next link of a page unchanged, or leave cursor out to "+
					"begin with the first page.",
			)
		}
		f.After = after
	}
	return f, nil
}
