package fakestripe

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPage is the largest page that a list has; a call that wants more is refused.
const maxPage = 100

// list returns a page of objects, newest first.
func (s *Server) list(form url.Values, prefix string, want func(Object) bool) (Object, int, string) {
	var ids []string
	for _, id := range s.order {
		if strings.HasPrefix(id, prefix+"_") && want(s.objects[id]) {
			ids = append(ids, id)
		}
	}
	return page(form, ids, func(i int) any { return s.objects[ids[i]] })
}

// listEvents returns a page of events, newest first.
func (s *Server) listEvents(form url.Values) (Object, int, string) {
	since, _ := strconv.ParseInt(form.Get("created[gte]"), 10, 64)
	after := form.Get("starting_after")
	var ids []string
	var bodies []json.RawMessage
	for _, e := range s.events {
		if e.at >= since || e.ID == after {
			ids = append(ids, e.ID)
			bodies = append(bodies, e.Body)
		}
	}
	return page(form, ids, func(i int) any { return bodies[i] })
}

// page returns the part of a list that a call asks for. The ids are those of the whole list,
// oldest first.
func page(form url.Values, ids []string, of func(int) any) (Object, int, string) {
	limit := 10
	if text := form.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return nil, http.StatusBadRequest, "parameter_invalid_integer"
		}
	}
	next := len(ids)
	if after := form.Get("starting_after"); after != "" {
		if next = slices.Index(ids, after); next < 0 {
			return nil, http.StatusBadRequest, "resource_missing"
		}
	}
	data := []any{}
	for i := next - 1; i >= 0 && len(data) < limit; i-- {
		data = append(data, of(i))
	}
	return Object{"object": "list", "data": data, "has_more": len(data) < next}, 0, ""
}
