// Package live notifies open pages of changes: a Feed tells lists about new items, and Versions
// tell pages about one thing that it has changed. It owns no table: both read through a function of
// the owning package.
//
// A Feed or Versions reads about once a second for all open pages of a node, and never without open
// pages. So a page shows another node's work within a second.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Default interval of a Feed's reads, and the timeout of one read. The wait, the read and the way
// to the browser must fit into a second.
const (
	defaultEvery = 800 * time.Millisecond
	readTimeout  = 5 * time.Second
)

// most is the maximum number of items per read.
const most = 1000

// Page is the maximum number of items that are held for a page, or that a returning page catches up
// with. Beyond that the page must be reloaded.
const Page = 50

// Item is a new item of a topic.
type Item[T any] struct {
	Topic int64 // such as a partner
	ID    int64 // rises: later items have larger ones
	Value T
}

// Signal receives when there may be something to take.
type Signal chan struct{}

// NewSignal returns a new signal.
func NewSignal() Signal { return make(Signal, 1) }

// Feed is one kind of items that appear. Set the exported fields before the first Watch.
type Feed[T any] struct {
	// Read returns at most limit items of these topics with IDs above after, the lowest first. If
	// IDs are drawn before their transaction commits, it must not return an item while a lower one
	// of any topic can still appear; see sqldb.DB.StableUpTo.
	Read func(ctx context.Context, topics []int64, after int64, limit int) ([]Item[T], error)

	// Newest returns the ID from which a Feed starts: that of the newest item of all, or any lower
	// one.
	Newest func(ctx context.Context) (int64, error)

	Every time.Duration // interval of reads; 0 is 800 ms
	Log   *slog.Logger  // nil: slog.Default

	mu      sync.Mutex
	watches map[*Watch[T]]bool
	stop    context.CancelFunc // of the reading goroutine; nil: not running
	begun   chan struct{}      // closed when that goroutine knows its starting ID
}

// Watch is one open page that watches a topic.
type Watch[T any] struct {
	feed  *Feed[T]
	topic int64
	begun chan struct{} // see Feed
	ready Signal
	items []Item[T]
	lost  bool
	last  int64 // highest ID held or caught up with
}

// Watch starts watching a topic: all new items are held for Take. Call Close when the page is
// closed.
func (f *Feed[T]) Watch(topic int64) *Watch[T] { return f.WatchWith(topic, NewSignal()) }

// WatchWith is Watch for a page that watches something else, too: both share one signal.
func (f *Feed[T]) WatchWith(topic int64, ready Signal) *Watch[T] {
	w := &Watch[T]{feed: f, topic: topic, ready: ready}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watches == nil {
		f.watches = make(map[*Watch[T]]bool)
	}
	f.watches[w] = true
	if f.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		f.begun = make(chan struct{})
		go f.poll(ctx, f.begun)
	}
	w.begun = f.begun
	return w
}

// Close ends the watch.
func (w *Watch[T]) Close() {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watches, w)
	if len(f.watches) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// Ready receives when Take has something.
func (w *Watch[T]) Ready() <-chan struct{} { return w.ready }

// Take returns the new items since the last call. lost means that there were more than are held:
// the page must be reloaded.
func (w *Watch[T]) Take() (items []Item[T], lost bool) {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	items = w.items
	lost = w.lost
	w.items = nil
	w.lost = false
	return items, lost
}

// CatchUp returns the items of the topic after an ID, for a page made at that time. Call it once,
// after Watch. Take omits the items it returned. lost means that there is more than a page of them.
func (w *Watch[T]) CatchUp(ctx context.Context, after int64) (items []Item[T], lost bool, err error) {
	// This finds items from before the feed's start; the feed finds the rest.
	select {
	case <-w.begun:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	items, err = w.feed.Read(ctx, []int64{w.topic}, after, Page+1)
	if err != nil {
		return nil, false, err
	}
	if len(items) > Page {
		return nil, true, nil
	}
	if len(items) > 0 {
		w.feed.mu.Lock()
		defer w.feed.mu.Unlock()
		w.last = max(w.last, items[len(items)-1].ID)
		w.items = newer(w.items, w.last)
	}
	return items, false, nil
}

// newer returns the items with IDs above last.
func newer[T any](items []Item[T], last int64) []Item[T] {
	i := slices.IndexFunc(items, func(item Item[T]) bool { return item.ID > last })
	if i < 0 {
		return nil
	}
	return items[i:]
}

// poll reads until ctx ends.
func (f *Feed[T]) poll(ctx context.Context, begun chan struct{}) {
	after := int64(0)
	known := false
	repeat(ctx, f.Every, f.Log, func(ctx context.Context) error {
		next, err := f.round(ctx, after, known)
		if err == nil && !known {
			close(begun)
		}
		after = next
		known = known || err == nil
		return err
	})
}

// repeat calls round immediately, and then at each interval until ctx ends.
func repeat(ctx context.Context, every time.Duration, log *slog.Logger, round func(context.Context) error) {
	if log == nil {
		log = slog.Default()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		bounded, cancel := context.WithTimeout(ctx, readTimeout)
		err := round(bounded)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.Error("open pages could not be told what is new; they are told later", "err", err)
		}
		timer.Reset(cmp.Or(every, defaultEvery))
	}
}

// round reads new items and distributes them. It returns the ID up to which everything was read.
func (f *Feed[T]) round(ctx context.Context, after int64, known bool) (int64, error) {
	if !known {
		return f.Newest(ctx)
	}
	items, err := f.Read(ctx, f.topics(), after, most)
	switch {
	case err != nil:
		return after, err
	case len(items) == 0:
		return after, nil
	case len(items) == most:
		// More than anyone can follow: the pages must reload.
		newest, err := f.Newest(ctx)
		if err != nil {
			return after, err
		}
		f.hand(items)
		return newest, nil
	}
	f.hand(items)
	return items[len(items)-1].ID, nil
}

// topics lists the watched topics, each once.
func (f *Feed[T]) topics() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]int64, 0, len(f.watches))
	for w := range f.watches {
		list = append(list, w.topic)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hand distributes the items to the watches of their topics.
func (f *Feed[T]) hand(items []Item[T]) {
	if len(items) == 0 {
		return
	}
	byTopic := make(map[int64][]Item[T])
	for _, item := range items {
		byTopic[item.Topic] = append(byTopic[item.Topic], item)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		w.lost = w.lost || len(items) == most
		if list := newer(byTopic[w.topic], w.last); len(list) > 0 || w.lost {
			w.add(list)
		}
	}
}

// add holds items for Take and signals. It never waits: a page that does not take its items loses
// them and must be reloaded.
func (w *Watch[T]) add(items []Item[T]) {
	if len(items) > 0 {
		w.last = items[len(items)-1].ID
	}
	if w.lost || len(w.items)+len(items) > Page {
		w.items = nil
		w.lost = true
	} else {
		w.items = append(w.items, items...)
	}
	w.ready.send()
}

// send signals, unless a signal is pending.
func (s Signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
