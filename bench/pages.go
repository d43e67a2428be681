package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
)

// viewers is how many people look at pages at once.
const viewers = 16

// sight is a page of the portal, and the call that answers the same rows.
type sight struct {
	name, page, call string
	list             bool
}

// sights are the pages of the first partner, at 700,000 of a million licenses.
func sights(w seed.World) []sight {
	since := "from=" + url.QueryEscape(w.End.Add(-24*time.Hour).Format(time.RFC3339))
	key := seed.LicenseKey(w.Licenses/2 + 1)
	span := fmt.Sprintf("from=%s&to=%s", url.QueryEscape(w.End.Add(-100*24*time.Hour).Format(time.RFC3339)), url.QueryEscape(w.End.Add(-99*24*time.Hour).Format(time.RFC3339)))
	list := []sight{
		{name: "licenses", page: "/licenses?", call: "/v2/licenses/search?"},
		{name: "licenses by status", page: "/licenses?license_status=active", call: "/v2/licenses/search?status=active"},
		{name: "licenses by tier", page: "/licenses?tier=2", call: "/v2/licenses/search?tier=2"},
		{name: "licenses by the key's end", page: "/licenses?key=" + key[32:], call: "/v2/licenses/search?key=" + key[32:]},
		{name: "licenses by date", page: "/licenses?from=2026-01-01&license_status=active", call: "/v2/licenses/search?from=2026-01-01T00:00:00Z&status=active"},
		{name: "deliveries", page: "/deliveries?", call: "/v2/deliveries?" + since},
		{name: "deliveries of all time", page: "/deliveries?range=all", call: "/v2/deliveries?"},
		{name: "deliveries of a day", page: "/deliveries?" + span, call: "/v2/deliveries?" + span},
		{name: "deliveries of a license", page: "/deliveries?license=" + key, call: "/v2/deliveries?license_key=" + key},
		{name: "deliveries by event id", page: fmt.Sprintf("/deliveries?id=%d", w.Failing), call: fmt.Sprintf("/v2/deliveries?event_id=%d", w.Failing)},
	}
	for _, state := range []string{"delivered", "waiting", "failing", "exhausted", "superseded", "failed"} {
		list = append(list, sight{name: "deliveries, " + state, page: "/deliveries?range=all&state=" + state, call: "/v2/deliveries?state=" + state})
	}
	for _, kind := range []string{"activate", "deactivate"} {
		list = append(list, sight{name: "deliveries, " + kind, page: "/deliveries?range=all&event=" + kind, call: "/v2/deliveries?event=" + kind})
	}
	for _, code := range []string{"401", "2xx", "none"} {
		list = append(list, sight{name: "deliveries, code " + code, page: "/deliveries?range=all&code=" + code, call: "/v2/deliveries?status_code=" + code})
	}
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
		sight{name: "an attempt", page: fmt.Sprintf("/deliveries/%d", w.Failing), call: fmt.Sprintf("/v2/deliveries/%d", w.Failing)})
	for i := range list {
		list[i].page = "/portal/1" + list[i].page
	}
	return list
}

// pages measures the pages of the portal: what they cost beside the call for the same
// rows, and how soon they come while many look. What they cost others is in live.
func (b *bench) pages(ctx context.Context, store seed.Store) error {
	world, err := store.World(ctx, b.licenses, say)
	if err != nil {
		return err
	}
	cookies, err := signIn(ctx, world.URL, world.Members)
	if err != nil {
		return err
	}
	service, err := startServiceAt(ctx, world.URL, time.Since(world.End).Truncate(time.Second))
	if err != nil {
		return err
	}
	defer service.stop()
	if b.profile {
		if err := b.profilePages(ctx, store, service, world, cookies); err != nil {
			return err
		}
	}
	if err := b.sights(ctx, store, service, world, cookies[0]); err != nil {
		return err
	}
	if err := b.today(ctx, store, world); err != nil {
		return err
	}
	return b.crowd(ctx, store, service, world, cookies)
}

// signIn begins a session of each user and returns their cookies.
func signIn(ctx context.Context, at string, users []account.User) ([]string, error) {
	db, err := sqldb.Open(ctx, at, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // each session was committed
	var cookies []string
	for _, u := range users {
		cookie, err := session(ctx, db, u)
		if err != nil {
			return nil, err
		}
		cookies = append(cookies, cookie)
	}
	return cookies, nil
}

func session(ctx context.Context, db *sqldb.DB, u account.User) (string, error) {
	sessions := ui.NewSessions(&account.Sessions{DB: db, Now: app.Now}, true)
	var failed error
	answer := httptest.NewRecorder()
	sessions.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		failed = sessions.SignIn(r.Context(), ui.Signed{UserID: u.ID, Epoch: u.SessionEpoch, At: app.Now()})
	})).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	list := answer.Result().Cookies()
	if failed != nil || len(list) == 0 {
		return "", fmt.Errorf("sign in: status %d, %w", answer.Code, failed)
	}
	return list[0].Name + "=" + list[0].Value, nil
}

// sights holds each page against the call for the same rows, in turns.
func (b *bench) sights(ctx context.Context, store seed.Store, service *server, w seed.World, cookie string) error {
	client, err := load.Dial(ctx, service.Addr)
	if err != nil {
		return err
	}
	defer client.Close()
	timed := func(request []byte) func() (float64, error) {
		return func() (float64, error) {
			const times = 5
			start := time.Now()
			for range times {
				status, size, err := client.Do(request)
				if err == nil && (status != http.StatusOK || size < 100 && !strings.Contains(string(request), "waiting")) {
					err = fmt.Errorf("answered %d with %d bytes: %s", status, size, request)
				}
				if err != nil {
					return 0, err
				}
			}
			return float64(time.Since(start).Microseconds()) / times, nil
		}
	}
	for _, s := range sights(w) {
		page, call := timed(load.Page(s.page, cookie)), timed(load.Get(s.call, seed.APIKey(1)))
		if _, err := figure.Turns(2, page, call); err != nil { // warm
			return err
		}
		noise := meter.Listen(b.servers...)
		rounds, err := figure.Turns(4*b.rounds, page, call)
		if err != nil {
			return err
		}
		goal := figure.Goal{}
		if s.list {
			goal = figure.AtMost(2, "")
		}
		b.add(figure.Compare("page of "+s.name+" against the JSON of the same rows", store.Name(), rounds, micros, goal, noise.Share()))
	}
	return nil
}

// crowd has all viewers look at pages without a pause, and measures when answers begin.
func (b *bench) crowd(ctx context.Context, store seed.Store, service *server, w seed.World, cookies []string) error {
	clients, err := load.Gather(ctx, service.Addr, viewers)
	if err != nil {
		return err
	}
	defer clients.Close()
	list := sights(w)
	took := map[string][]float64{}
	var mu sync.Mutex
	turn := make([]int, viewers)
	look := func(_ context.Context, viewer int) error {
		s := list[(turn[viewer]*7+viewer*5)%len(list)] // 7 and the number of pages have no common factor
		turn[viewer]++
		status, first, err := clients[viewer].FirstByte(load.Page(s.page, cookies[viewer]))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answered %d", s.page, status)
		}
		mu.Lock()
		defer mu.Unlock()
		took[s.name] = append(took[s.name], first.Seconds()*1000)
		return err
	}
	if _, err := load.Rate(ctx, viewers, b.length, look); err != nil { // warm
		return err
	}
	clear(took)
	noise := meter.Listen(b.servers...)
	if _, err := load.Rate(ctx, viewers, 5*b.length, look); err != nil {
		return err
	}
	goal := figure.Goal{}
	if store.Server == "" {
		goal = figure.AtMost(50, "ms")
	}
	var all []float64
	for _, s := range list {
		all = append(all, took[s.name]...)
		b.firstByte(store, "page of "+s.name, took[s.name], goal, noise.Share())
	}
	b.firstByte(store, "all pages", all, goal, noise.Share())
	return nil
}

func (b *bench) firstByte(store seed.Store, name string, took []float64, goal figure.Goal, noise float64) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	of := fmt.Sprintf("%d answers, p50 %.1f ms", len(took), took[len(took)/2])
	b.add(figure.Single(fmt.Sprintf("%s: first byte with %d viewers, p95", name, viewers), store.Name(), of, took[len(took)*95/100], "%.1f", "ms", goal, noise))
}

// profilePages profiles the server while all viewers look at the pages that show rows.
func (b *bench) profilePages(ctx context.Context, store seed.Store, service *server, w seed.World, cookies []string) error {
	clients, err := load.Gather(ctx, service.Addr, 4)
	if err != nil {
		return err
	}
	defer clients.Close()
	for _, s := range sights(w) {
		if s.name != "deliveries" && s.name != "licenses" && s.name != "overview" {
			continue
		}
		taken := make(chan error)
		go func() { taken <- b.profileOf(ctx, service, "pages-"+strings.ToLower(store.Name())+"-"+s.name, 4) }()
		_, err := clients.Rate(ctx, 5*time.Second, http.StatusOK, func(viewer int) []byte { return load.Page(s.page, cookies[viewer]) })
		if err := firstOf(err, <-taken); err != nil {
			return err
		}
	}
	return nil
}
