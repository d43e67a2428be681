package main

import (
	"fmt"
	"net/url"
	"time"

	"claviger/bench/internal/load"
	"claviger/bench/internal/seed"
)

// sight is a page of the portal or the console, and the API call for the same rows.
type sight struct {
	name, page, call string
	list, console    bool
}

// look returns the request for the page by a member of the partner, or by an operator.
func (s sight) look(v viewers, n int) []byte {
	if s.console {
		return load.Page(s.page, v.operator)
	}
	return load.Page(s.page, v.members[n])
}

// ask returns the request for the API call.
func (s sight) ask() []byte {
	if s.console {
		return load.Get(s.call, seed.Token)
	}
	return load.Get(s.call, seed.APIKey(1))
}

// sights returns the pages of the first partner, which has 700,000 of a million licenses.
func sights(w seed.World) []sight {
	since := "from=" + url.QueryEscape(w.End.Add(-24*time.Hour).Format(time.RFC3339))
	key := seed.LicenseKey(w.Licenses/2 + 1)
	span := fmt.Sprintf("from=%s&to=%s", url.QueryEscape(w.End.Add(-4*24*time.Hour).Format(time.RFC3339)),
		url.QueryEscape(w.End.Add(-3*24*time.Hour).Format(time.RFC3339)))
	list := []sight{
		{name: "licenses", page: "/licenses?", call: "/v2/licenses/search?"},
		{
			name: "licenses by status", page: "/licenses?license_status=active",
			call: "/v2/licenses/search?status=active",
		},
		{name: "licenses by tier", page: "/licenses?tier=2", call: "/v2/licenses/search?tier=2"},
		{
			name: "licenses by the key's end", page: "/licenses?key=" + key[32:],
			call: "/v2/licenses/search?key=" + key[32:],
		},
		{
			name: "licenses by date", page: "/licenses?from=2026-01-01T00:00:00Z&license_status=active",
			call: "/v2/licenses/search?from=2026-01-01T00:00:00Z&status=active",
		},
		{name: "deliveries", page: "/deliveries?", call: "/v2/deliveries?" + since},
		{name: "deliveries of all time", page: "/deliveries?range=all", call: "/v2/deliveries?"},
		{name: "deliveries of a day", page: "/deliveries?" + span, call: "/v2/deliveries?" + span},
		{
			name: "deliveries of a license", page: "/deliveries?license=" + key,
			call: "/v2/deliveries?license_key=" + key,
		},
		{
			name: "deliveries by event id", page: fmt.Sprintf("/deliveries?id=%d", w.Failing),
			call: fmt.Sprintf("/v2/deliveries?event_id=%d", w.Failing),
		},
	}
	list = append(list, deliverySights()...)
	list = append(list,
		sight{name: "requests", page: "/requests?", call: "/v2/requests?"},
		sight{name: "requests by code", page: "/requests?code=invalid_grant", call: "/v2/requests?code=invalid_grant"},
		sight{name: "audit", page: "/audit?", call: "/v2/audit?"},
		sight{name: "kinds of events", page: "/events?", call: "/v2/event-kinds?"})
	for i := range list {
		list[i].list = true
		if list[i].name != "kinds of events" {
			list[i].call += "&limit=50" // as many as the page has
		}
	}
	list = append(list,
		sight{name: "overview", page: "/overview", call: "/v2/stats?days=30&hours=24"},
		sight{name: "a license", page: "/licenses/" + key, call: "/v2/licenses/" + key + "/events"},
		sight{
			name: "an attempt", page: fmt.Sprintf("/deliveries/%d", w.Failing),
			call: fmt.Sprintf("/v2/deliveries/%d", w.Failing),
		})
	for i := range list {
		list[i].page = "/portal/1" + list[i].page
	}
	return append(list, consoleSights(w)...)
}

// deliverySights returns the lists of deliveries with one filter each.
func deliverySights() (list []sight) {
	for _, state := range []string{"delivered", "waiting", "failing", "exhausted", "superseded", "failed"} {
		list = append(list, sight{
			name: "deliveries, " + state, page: "/deliveries?range=all&state=" + state,
			call: "/v2/deliveries?state=" + state,
		})
	}
	for _, kind := range []string{"activate", "deactivate"} {
		list = append(list, sight{
			name: "deliveries, " + kind, page: "/deliveries?range=all&event=" + kind,
			call: "/v2/deliveries?event=" + kind,
		})
	}
	for _, code := range []string{"401", "2xx", "none"} {
		list = append(list, sight{
			name: "deliveries, code " + code, page: "/deliveries?range=all&code=" + code,
			call: "/v2/deliveries?status_code=" + code,
		})
	}
	return list
}

// consoleSights returns the lists of the console, over all partners. The list of partners has all
// of them with their endpoint health, which no API call returns: it has no goal.
func consoleSights(w seed.World) []sight {
	key := seed.LicenseKey(w.Licenses/2 + 1)
	list := []sight{
		{name: "licenses", page: "/licenses?", call: "/licenses/search?"},
		{
			name: "licenses by the key's end", page: "/licenses?key=" + key[32:],
			call: "/licenses/search?key=" + key[32:],
		},
		{name: "purchases", page: "/purchases?", call: "/purchases/search?"},
		{name: "deliveries", page: "/deliveries?range=all", call: "/deliveries?"},
		{name: "deliveries, failed", page: "/deliveries?range=all&state=failed", call: "/deliveries?state=failed"},
		{name: "people", page: "/people?", call: "/users?"},
		{name: "partners", page: "/partners?", call: "/partners?"},
		{name: "audit", page: "/audit?", call: "/audit?"},
	}
	for i, s := range list {
		list[i] = sight{
			name: "console: " + s.name, page: "/console" + s.page, call: "/operator/v1" + s.call + "&limit=50",
			list: s.name != "partners", console: true,
		}
	}
	return list
}
