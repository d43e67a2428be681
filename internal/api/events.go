package api

import (
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
	"claviger/internal/partner"
	"claviger/internal/wire"
)

func (a *API) listEvents(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
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
	if filter.Status, err = statusOf(q); err != nil {
		return err
	}

	list, err := a.Events.List(r.Context(), p.ID, filter, asked)
	if err != nil {
		return err
	}
	return answerEvents(w, r, q, asked, list)
}

func (a *API) listLicenseEvents(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	return a.LicenseEvents(w, r, a.named(r, p))
}

// LicenseEvents answers the events of a license, which find finds for whoever
// asks. The operator API answers in the same form by it.
func (a *API) LicenseEvents(w http.ResponseWriter, r *http.Request, find func() (license.License, error)) error {
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

	l, err := find()
	if err != nil {
		return err
	}
	list, err := a.Events.OfLicense(r.Context(), l.ID, filter, asked)
	if err != nil {
		return err
	}
	return answerEvents(w, r, q, asked, list)
}

// answerEvents answers a page of events. after=0 narrows nothing, but whoever
// walks from there on must see the headers that every other step has.
func answerEvents(w http.ResponseWriter, r *http.Request, q url.Values, asked paging.Page, list event.List) error {
	if q.Has("after") && list.Total >= 0 {
		list.More = asked.Offset()+asked.Limit < list.Total
		list.Total = -1
	}
	wire.PageHeaders(w, r, asked, list.Total, list.More)
	return wire.AppendTagged(w, r, "", func(b []byte) []byte { return appendEvents(b, list.Events) })
}

// eventFilter reads the filters that both event lists have.
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

// eventID reads a whole number from 0. One too large for an id is one all the
// same: no event follows it.
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
