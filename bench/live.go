package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"sync"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/sqldb"
)

// openPages is the number of concurrently open live pages.
const openPages = 200

// live measures the indirect cost of pages: of open ones for deliveries, and of the lists' indexes
// for writes.
func (b *bench) live(ctx context.Context, store seed.Store) error {
	return errors.Join(b.followed(ctx, store), b.indexed(ctx, store))
}

// followed delivers with and without open pages, in turns.
func (b *bench) followed(ctx context.Context, store seed.Store) error {
	f, err := openFlow(ctx, store, "live", clients, clients, scene{}, nil)
	if err != nil {
		return err
	}
	defer f.close()                                    //nolint:errcheck // the results were read
	if _, _, err := f.run(ctx, b.length); err != nil { // warm-up; creates something to show
		return err
	}
	users, err := seed.Join(ctx, f.db, f.post.partners...)
	if err != nil {
		return err
	}
	cookies, err := signIn(ctx, f.post.url, users)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		paths []string
	}{
		{"lists of deliveries", []string{"/deliveries"}},
		{"pages, half of them overviews", []string{"/deliveries", "/overview"}},
		{"pages, half of them the set-up", []string{"/deliveries", "/setup"}},
	} {
		pages, err := f.pages(ctx, cookies, c.paths)
		if err == nil {
			err = b.besides(ctx, store, f, fmt.Sprintf("sold and delivered with %d open %s against none", openPages,
				c.name), pages)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// besides measures a flow with and without open pages.
func (b *bench) besides(ctx context.Context, store seed.Store, f *flow, name string, pages []*http.Request) error {
	var costs figure.Rounds
	side := func(costs *[]float64, open []*http.Request) func() (float64, error) {
		return func() (float64, error) {
			leave, err := follow(ctx, open)
			if err != nil {
				return 0, err
			}
			rate, cost, err := b.turn(ctx, store, f)
			*costs = append(*costs, cost)
			return rate, errors.Join(err, leave())
		}
	}
	noise := meter.Listen(b.servers...)
	rates, err := figure.Turns(b.rounds, side(&costs.Ours, pages), side(&costs.Yardstick, nil))
	if err != nil {
		return err
	}
	b.add(figure.Compare(name+": rate", store.Name(), rates, perSecond, figure.AtLeast(0.95, ""), noise.Share()))
	b.add(figure.Compare(name+": CPU per event", store.Name(), costs, micros, figure.AtMost(1.05, ""), noise.Share()))
	return nil
}

// turn runs a flow for one side of a round. It returns the delivered events per second, and the CPU
// microseconds of each.
func (b *bench) turn(ctx context.Context, store seed.Store, f *flow) (rate, cost float64, err error) {
	used := b.spent(store, f.service)
	n, took, err := f.run(ctx, b.length)
	n = max(n, 1)
	return float64(n) / took.Seconds(), float64((b.spent(store, f.service) - used).Microseconds()) / float64(n), err
}

// pages returns the requests of open pages: the same number for each partner and each person.
func (f *flow) pages(ctx context.Context, cookies, paths []string) ([]*http.Request, error) {
	var list []*http.Request
	for i := range openPages {
		partner, path := f.post.partners[i%clients], paths[i/clients%len(paths)]
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://%s/portal/%d%s", f.service.Addr, partner, path), nil)
		if err != nil {
			return nil, err
		}
		r.Host = "licenses.example.com"
		r.Header.Set("Cookie", cookies[i%len(cookies)])
		list = append(list, r)
	}
	return list, nil
}

// follow opens the pages and reads their streams like a browser, until the returned function is
// called. That returns an error if a stream has ended early: then fewer were open.
func follow(ctx context.Context, pages []*http.Request) (leave func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	transport := &http.Transport{DisableCompression: true}
	var wg sync.WaitGroup
	ended := make(chan error, len(pages))
	leave = func() error {
		var err error
		if len(ended) > 0 {
			err = <-ended
		}
		cancel()
		wg.Wait()
		transport.CloseIdleConnections()
		return err
	}
	for _, page := range pages {
		body, err := followOne(transport, page.WithContext(ctx))
		if err != nil {
			return nil, errors.Join(err, leave())
		}
		wg.Go(func() {
			_, err := io.Copy(io.Discard, body)
			ended <- fmt.Errorf("the stream of %s has ended: %w", page.URL, errors.Join(err, body.Close()))
		})
	}
	return leave, nil
}

// followOne opens the stream of a page.
func followOne(transport *http.Transport, page *http.Request) (io.ReadCloser, error) {
	open := func(r *http.Request) (*http.Response, error) {
		answer, err := transport.RoundTrip(r)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.Join(fmt.Errorf("%s answered %s", r.URL, answer.Status), answer.Body.Close())
		}
		return answer, err
	}
	answer, err := open(page)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	_, at, ok := strings.Cut(string(text), `hx-sse:connect="`)
	if !ok {
		return nil, fmt.Errorf("%s has no stream", page.URL)
	}
	at, _, _ = strings.Cut(at, `"`)
	to, err := page.URL.Parse(html.UnescapeString(at))
	if err != nil {
		return nil, err
	}
	stream := page.Clone(page.Context())
	stream.URL = to
	answer, err = open(stream)
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(answer.Body, make([]byte, len(": welcome"))) // the page is live from now on
	return answer.Body, err
}

// listIndexes are the indexes that sales and deliveries update, and only lists and searches of
// pages use.
var listIndexes = []string{
	"licenses_key_end", "deliveries_made", "audit_entries_partner", "purchases_user", "outbox_failing",
	"outbox_all_failing", "outbox_all_given_up",
}

// indexed sells and delivers with and without the indexes of the lists, in turns.
func (b *bench) indexed(ctx context.Context, store seed.Store) error {
	with, err := openFlow(ctx, store, "indexed", clients, clients, scene{buyer: true}, nil)
	if err != nil {
		return err
	}
	defer with.close() //nolint:errcheck // the results were read
	without, err := openFlow(ctx, store, "unindexed", clients, clients, scene{buyer: true}, func(p *post) error {
		return p.db.Write(ctx, func(tx *sqldb.Tx) error {
			for _, name := range listIndexes {
				if _, err := tx.Exec(ctx, `DROP INDEX `+name); err != nil {
					return fmt.Errorf("drop the index %s: %w", name, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	defer without.close() //nolint:errcheck // the results were read
	side := func(f *flow) func() (float64, error) {
		return func() (float64, error) {
			_, cost, err := b.turn(ctx, store, f)
			return cost, err
		}
	}
	if _, err := figure.Turns(1, side(with), side(without)); err != nil { // warm
		return err
	}
	noise := meter.Listen(b.servers...)
	rounds, err := figure.Turns(b.rounds, side(with), side(without))
	if err != nil {
		return err
	}
	b.add(figure.Compare("sold and delivered with the indexes of the pages' lists against without: CPU per event",
		store.Name(), rounds, micros, figure.Goal{}, noise.Share()))
	return nil
}
