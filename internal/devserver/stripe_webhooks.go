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

// Limits of the fake's webhooks.
const (
	maxUnsent   = 100 // that wait to be posted
	maxPosts    = 50  // that the page lists
	postTimeout = 10 * time.Second
)

// disorder has the faults of webhooks, as on a bad day.
type disorder struct {
	Lost      bool // none is posted
	Doubled   bool // each is posted twice
	Reordered bool // each waits for the next one and is posted after it
}

// post is a webhook in the list on the page.
type post struct {
	At     time.Time
	Type   string
	Result string
}

// poster posts the fake's webhooks, one after another.
type poster struct {
	fake   *fakestripe.Server
	client *http.Client
	log    *slog.Logger
	queue  chan fakestripe.Event
	url    string // their target; known when the server listens

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

// enqueue queues an event, depending on the faults. It never blocks.
func (p *poster) enqueue(e fakestripe.Event) {
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
		list = append(list, p.held...)
		p.held = nil
	}
	for _, e := range list {
		p.add(e)
		if p.wrong.Doubled {
			p.add(e)
		}
	}
}

// add queues an event. The caller holds the lock.
func (p *poster) add(e fakestripe.Event) {
	select {
	case p.queue <- e:
	default: // the job looks it up
		p.note(e.Type, "lost: too many wait")
	}
}

// set changes the faults, and releases held webhooks if necessary.
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

// now returns the faults, the number of held webhooks, and the last posts.
func (p *poster) now() (wrong disorder, held int, posts []post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong, len(p.held), slices.Clone(p.posts)
}

// note lists the outcome of a webhook. The caller holds the lock.
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
				p.log.Warn(
					"the stand-in for Stripe could not post a webhook; the service asks for it later",
					"type",
					e.Type,
					"err",
					err,
				)
			}
			p.log.Info(paymentWebhook, "type", e.Type, "result", result)
			p.mu.Lock()
			p.note(e.Type, result)
			p.mu.Unlock()
		}
	}
}

// send posts one webhook and returns the answer as text.
func (p *poster) send(ctx context.Context, e fakestripe.Event) (string, error) {
	const failed = "not answered"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(e.Body))
	if err != nil {
		return failed, err
	}
	r.Host = "localhost" // the server accepts this name at any address
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

// start posts webhooks until stop is called, which waits for the current one.
func (p *poster) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
