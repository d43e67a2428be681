package answers

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// PartnerEvents answers with the events of a partner.
func (c *Common) PartnerEvents(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, "status", "event", "after", "page", "limit", "order")
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	filter, err := eventFilter(q)
	if err != nil {
		return err
	}
	if filter.Status, err = StatusOf(q); err != nil {
		return err
	}

	list, err := c.Events.List(r.Context(), partnerID, filter, asked)
	if err != nil {
		return err
	}
	return answerEvents(w, r, q, asked, list)
}

// LicenseEvents answers with the events of the license that find returns. find is called after the
// parameters are checked.
func (c *Common) LicenseEvents(
	w http.ResponseWriter, r *http.Request, find func(context.Context) (license.License, error),
) error {
	q, err := wire.Query(r, "event", "after", "page", "limit", "order")
	if err != nil {
		return err
	}
	asked, err := paging.Parse(q)
	if err != nil {
		return err
	}
	filter, err := eventFilter(q)
	if err != nil {
		return err
	}

	l, err := find(r.Context())
	if err != nil {
		return err
	}
	list, err := c.Events.OfLicense(r.Context(), l.ID, filter, asked)
	if err != nil {
		return err
	}
	return answerEvents(w, r, q, asked, list)
}

// answerEvents answers with a page of events. after=0 filters nothing, but a reader that pages from
// it must get the same headers as in every other step.
func answerEvents(w http.ResponseWriter, r *http.Request, q url.Values, asked paging.Page, list event.List) error {
	if q.Has("after") && list.Total >= 0 {
		list.More = asked.Offset()+asked.Limit < list.Total
		list.Total = -1
	}
	wire.PageHeaders(w, r, asked, list.Total, list.More)
	return wire.AppendTagged(w, r, "", func(b []byte) []byte { return appendEvents(b, list.Events) })
}

// eventFilter reads the filters of both event lists.
func eventFilter(q url.Values) (event.Filter, error) {
	var f event.Filter
	var err error
	if f.Kind, err = event.ParseKind(q.Get("event")); err != nil {
		return f, err
	}
	if f.Kind == 0 && q.Has("event") {
		return f, fault.Parameter("event", "is empty; send purchase, activate or deactivate, or leave it out.")
	}
	if q.Has("after") {
		id, ok := eventID(q.Get("after"))
		if !ok {
			return f, fault.Parameter("after", "must be an event_id, or 0 to begin with the first event.")
		}
		f.After = id
	}
	return f, nil
}

// eventID parses an integer from 0. One too large for an id is valid: no event follows it.
func eventID(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, true
	}
	return n, err == nil
}
