package devserver

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"claviger/internal/app"
	"claviger/internal/payment/fakestripe"
)

// The bounds of the stand-in's webhooks.
const (
	maxUnsent   = 100 // that wait to be posted
	maxPosts    = 50  // that the page lists
	postTimeout = 10 * time.Second
)

// disorder is what goes wrong with webhooks, as it does on a bad day.
type disorder struct {
	Lost      bool // none is posted
	Doubled   bool // each is posted twice
	Reordered bool // each waits for the next one and is posted after it
}

// post is a webhook as the page lists it.
type post struct {
	At     time.Time
	Type   string
	Result string
}

// poster posts the stand-in's webhooks, one after another.
type poster struct {
	fake   *fakestripe.Server
	client *http.Client
	log    *slog.Logger
	queue  chan fakestripe.Event
	url    string // where they go; known when the server listens

	mu    sync.Mutex
	wrong disorder
	held  []fakestripe.Event // at most one
	posts []post             // newest first
}

func newPoster(fake *fakestripe.Server, log *slog.Logger) *poster {
	return &poster{
		fake: fake, log: log, queue: make(chan fakestripe.Event, maxUnsent),
		client: &http.Client{Timeout: postTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// take queues an event that happened, or not, as the switches say. It never waits.
func (p *poster) take(e fakestripe.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []fakestripe.Event{e}
	switch {
	case p.wrong.Lost:
		p.note(e.Type, "lost")
		return
	case p.wrong.Reordered && len(p.held) == 0:
		p.held = list
		return
	case p.wrong.Reordered:
		list, p.held = append(list, p.held...), nil
	}
	for _, e := range list {
		p.add(e)
		if p.wrong.Doubled {
			p.add(e)
		}
	}
}

// add queues an event. The lock is held.
func (p *poster) add(e fakestripe.Event) {
	select {
	case p.queue <- e:
	default: // the job finds out what it was about
		p.note(e.Type, "lost: too many wait")
	}
}

// set changes what goes wrong, and lets go what was held back for it.
func (p *poster) set(wrong disorder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = wrong
	if wrong.Reordered {
		return
	}
	for _, e := range p.held {
		p.add(e)
	}
	p.held = nil
}

// now returns what goes wrong, how many webhooks are held back, and the last ones.
func (p *poster) now() (wrong disorder, held int, posts []post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong, len(p.held), slices.Clone(p.posts)
}

// note lists what became of a webhook. The lock is held.
func (p *poster) note(kind, result string) {
	p.posts = slices.Insert(p.posts, 0, post{app.Now(), kind, result})
	p.posts = p.posts[:min(len(p.posts), maxPosts)]
}

// run posts until ctx ends.
func (p *poster) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-p.queue:
			result, err := p.send(ctx, e)
			if err != nil && ctx.Err() == nil {
				p.log.Warn("the stand-in for Stripe could not post a webhook; the service asks for it later", "type", e.Type, "err", err)
			}
			p.log.Info(paymentWebhook, "type", e.Type, "result", result)
			p.mu.Lock()
			p.note(e.Type, result)
			p.mu.Unlock()
		}
	}
}

// send posts one webhook and says what was answered.
func (p *poster) send(ctx context.Context, e fakestripe.Event) (string, error) {
	const failed = "not answered"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(e.Body))
	if err != nil {
		return failed, err
	}
	r.Host = "localhost" // to which the server answers wherever it listens
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Stripe-Signature", p.fake.Sign(e.Body))
	resp, err := p.client.Do(r)
	if err != nil {
		return failed, err
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing was written.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return "answered " + strconv.Itoa(resp.StatusCode), err
}

// start posts webhooks until stop is called, which waits for the one on its way.
func (p *poster) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
