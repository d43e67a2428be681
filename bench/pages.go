package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// crowd is the number of concurrent viewers.
const crowd = 16

// viewers has the cookies of signed-in people.
type viewers struct {
	members  []string // of the first partner
	operator string
}

// pages measures the pages of the portal: their cost compared with the API call for the same rows,
// and their latency under load. live measures their cost for others.
func (b *bench) pages(ctx context.Context, store seed.Store) error {
	world, err := store.World(ctx, b.licenses, say)
	if err != nil {
		return err
	}
	people, err := signInAll(ctx, world)
	if err != nil {
		return err
	}
	service, err := startServiceAt(ctx, world.URL, time.Since(world.End).Truncate(time.Second))
	if err != nil {
		return err
	}
	defer service.stop()
	if b.profile {
		if err := b.profilePages(ctx, store, service, world, people); err != nil {
			return err
		}
	}
	if err := b.sights(ctx, store, service, world, people); err != nil {
		return err
	}
	if err := b.today(ctx, store, world); err != nil {
		return err
	}
	return b.look(ctx, store, service, world, people)
}

// signInAll signs in the members of the first partner, and an operator.
func signInAll(ctx context.Context, w seed.World) (viewers, error) {
	db, err := sqldb.Open(ctx, w.URL, sqldb.Options{})
	if err != nil {
		return viewers{}, err
	}
	added, err := (&account.Store{DB: db, Now: app.Now}).AddOperator(ctx, audit.System("bench"), "operator@example.com")
	if err := errors.Join(err, db.Close()); err != nil {
		return viewers{}, err
	}
	cookies, err := signIn(ctx, w.URL, append(slices.Clone(w.Members), added.User))
	if err != nil {
		return viewers{}, err
	}
	return viewers{members: cookies[:len(w.Members)], operator: cookies[len(w.Members)]}, nil
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
	site := &visitor.Site{
		Sessions: ui.NewSessions(&account.Sessions{DB: db, Now: app.Now}, true),
		Accounts: &account.Store{DB: db, Now: app.Now},
	}
	var failed error
	answer := httptest.NewRecorder()
	site.Sessions.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		failed = site.SignIn(r, account.Entry{User: u, Next: "/"}, app.Now(), false)
	})).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	list := answer.Result().Cookies()
	if failed != nil || len(list) == 0 {
		return "", fmt.Errorf("sign in: status %d, %w", answer.Code, failed)
	}
	return list[0].Name + "=" + list[0].Value, nil
}

// sights compares each page with the API call for the same rows, in turns.
func (b *bench) sights(ctx context.Context, store seed.Store, service *server, w seed.World, people viewers) error {
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
				if err == nil && (status != http.StatusOK || size < 100 && !strings.Contains(string(request),
					"waiting")) {
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
		page, call := timed(s.look(people, 0)), timed(s.ask())
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
		b.add(figure.Compare("page of "+s.name+" against the JSON of the same rows", store.Name(), rounds, micros, goal,
			noise.Share()))
	}
	return nil
}

// look loads pages for the crowd without a pause, and measures when answers begin.
func (b *bench) look(ctx context.Context, store seed.Store, service *server, w seed.World, people viewers) error {
	clients, err := load.Gather(ctx, service.Addr, crowd)
	if err != nil {
		return err
	}
	defer clients.Close()
	list := sights(w)
	took := map[string][]float64{}
	var mu sync.Mutex
	turn := make([]int, crowd)
	look := func(_ context.Context, viewer int) error {
		s := list[(turn[viewer]*7+viewer*5)%len(list)] // 7 and the number of pages have no common factor
		turn[viewer]++
		status, first, err := clients[viewer].FirstByte(s.look(people, viewer))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answered %d", s.page, status)
		}
		mu.Lock()
		defer mu.Unlock()
		took[s.name] = append(took[s.name], first.Seconds()*1000)
		return err
	}
	if _, err := load.Rate(ctx, crowd, b.length, look); err != nil { // warm
		return err
	}
	clear(took)
	noise := meter.Listen(b.servers...)
	if _, err := load.Rate(ctx, crowd, 5*b.length, look); err != nil {
		return err
	}
	goal := figure.Goal{}
	if store.Server == "" {
		goal = figure.AtMost(50, "ms")
	}
	var all []float64
	for _, s := range list {
		all = append(all, took[s.name]...)
		b.firstByte(store, "page of "+s.name, crowd, took[s.name], goal, noise.Share())
	}
	b.firstByte(store, "all pages", crowd, all, goal, noise.Share())
	return nil
}

func (b *bench) firstByte(store seed.Store, name string, viewers int, took []float64, goal figure.Goal, noise float64) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	of := fmt.Sprintf("%d answers, p50 %.1f ms", len(took), took[len(took)/2])
	b.add(figure.Single(fmt.Sprintf("%s: first byte with %d viewers, p95", name, viewers), store.Name(), of,
		took[len(took)*95/100], "%.1f", "ms", goal, noise))
}

// profilePages profiles the server while all viewers load the pages with rows.
func (b *bench) profilePages(
	ctx context.Context, store seed.Store, service *server, w seed.World, people viewers,
) error {
	clients, err := load.Gather(ctx, service.Addr, 4)
	if err != nil {
		return err
	}
	defer clients.Close()
	for _, s := range sights(w) {
		if s.name != "deliveries" && s.name != "licenses" && s.name != "overview" && s.name != "console: purchases" {
			continue
		}
		taken := make(chan error)
		go func() { taken <- b.profileOf(ctx, service, "pages-"+strings.ToLower(store.Name())+"-"+s.name, 4) }()
		_, err := clients.Rate(ctx, 5*time.Second, http.StatusOK, func(viewer int) []byte {
			return s.look(people, viewer)
		})
		if err := firstOf(err, <-taken); err != nil {
			return err
		}
	}
	return nil
}
