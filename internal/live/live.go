// Package live tells open pages what is new: a Feed tells lists what appeared in them, and
// Versions tell pages about one thing that it has changed. It owns no table: both read
// through a function of the package that does.
//
// However many pages are open on a node, each runs one read about once a second, for all
// that anybody looks at, and none while nobody looks. So a page is right within a second
// of another node's work.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// How often a Feed reads unless told otherwise, and how long one read may take. A
// second has to suffice for the wait, the read and the way to the browser.
const (
	defaultEvery = 800 * time.Millisecond
	readTimeout  = 5 * time.Second
)

// most is how many items one read returns.
const most = 1000

// Page is how many items are held for a page that does not take them, and at most
// caught up with by one that comes back. Beyond that the page is loaded again.
const Page = 50

// Item is something new.
type Item[T any] struct {
	Topic int64 // what it belongs to, such as a partner
	ID    int64 // rises: an item that appears later has a larger one
	Value T
}

// Signal receives when there may be something to take.
type Signal chan struct{}

// NewSignal makes a signal.
func NewSignal() Signal { return make(Signal, 1) }

// Feed is one kind of things that appear. Set the exported fields before the first
// Watch.
type Feed[T any] struct {
	// Read returns items of these topics with IDs above after, the lowest first, at most
	// limit of them. Where IDs are drawn before their transaction commits, it must not
	// return an item while a lower one of any topic can still appear; see
	// sqldb.DB.StableUpTo.
	Read func(ctx context.Context, topics []int64, after int64, limit int) ([]Item[T], error)

	// Newest returns the ID from which on a Feed begins to read: that of the newest item
	// of all, or any lower one.
	Newest func(ctx context.Context) (int64, error)

	Every time.Duration // between two reads; 0 is 800 ms
	Log   *slog.Logger  // nil: slog.Default

	mu      sync.Mutex
	watches map[*Watch[T]]bool
	stop    context.CancelFunc // of the goroutine that reads; nil: it does not run
	begun   chan struct{}      // closed when that goroutine knows from where on it reads
}

// Watch is one open page that looks at a topic.
type Watch[T any] struct {
	feed  *Feed[T]
	topic int64
	begun chan struct{} // see Feed
	ready Signal
	items []Item[T]
	lost  bool
	last  int64 // the highest ID that was held or caught up with
}

// Watch begins to look at a topic: from now on everything new is held for Take. Call
// Close when the page is closed.
func (f *Feed[T]) Watch(topic int64) *Watch[T] { return f.WatchWith(topic, NewSignal()) }

// WatchWith is Watch for a page that also looks at something else: both use one signal.
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
		f.stop, f.begun = stop, make(chan struct{})
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

// Take returns what is new since the last call. lost says that there was more than is
// held: the page has to be loaded again.
func (w *Watch[T]) Take() (items []Item[T], lost bool) {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	items, lost = w.items, w.lost
	w.items, w.lost = nil, false
	return items, lost
}

// CatchUp returns what appeared in the topic after an ID, for a page that was made
// then: call it once, after Watch. Take leaves out what it returned. lost says that
// there is more than a page of it.
func (w *Watch[T]) CatchUp(ctx context.Context, after int64) (items []Item[T], lost bool, err error) {
	// What appears before the feed begins is found here, the rest by the feed.
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
	after, known := int64(0), false
	repeat(ctx, f.Every, f.Log, func(ctx context.Context) error {
		next, err := f.round(ctx, after, known)
		if err == nil && !known {
			close(begun)
		}
		after, known = next, known || err == nil
		return err
	})
}

// repeat calls round at once and then again and again until ctx ends.
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

// round reads what is new and hands it out. It returns up to which ID everything was
// read.
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
		// More than anybody can follow: the pages are loaded again.
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

// topics lists what is looked at, each once.
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

// hand gives each watch the items of its topic.
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

// add holds items for Take and says so. It never waits: a page that does not take its
// items loses them and is loaded again.
func (w *Watch[T]) add(items []Item[T]) {
	if len(items) > 0 {
		w.last = items[len(items)-1].ID
	}
	if w.lost || len(w.items)+len(items) > Page {
		w.items, w.lost = nil, true
	} else {
		w.items = append(w.items, items...)
	}
	w.ready.send()
}

// send says that there is something, unless that is said already.
func (s Signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
