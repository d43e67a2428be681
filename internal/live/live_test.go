package live_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/live"
)

// list is the source of a test's feed: items with rising IDs.
type list struct {
	mu    sync.Mutex
	items []live.Item[string]
	reads [][]int64 // the topics of each read
	err   error
	begin func() // called before the feed knows its start
}

func (l *list) feed() *live.Feed[string] {
	return &live.Feed[string]{Read: l.read, Newest: l.newest, Log: slog.New(slog.DiscardHandler)}
}

func (l *list) read(_ context.Context, topics []int64, after int64, limit int) ([]live.Item[string], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, topics)
	var found []live.Item[string]
	for _, item := range l.items {
		if item.ID > after && slices.Contains(topics, item.Topic) && len(found) < limit {
			found = append(found, item)
		}
	}
	return found, l.err
}

func (l *list) newest(context.Context) (int64, error) {
	if l.begin != nil {
		l.begin()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.items)), l.err
}

// add appends items of a topic.
func (l *list) add(topic int64, values ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range values {
		l.items = append(l.items, live.Item[string]{Topic: topic, ID: int64(len(l.items) + 1), Value: v})
	}
}

func (l *list) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *list) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.reads)
}

// values returns the items of a watch, and "lost" if it lost some.
func values(w *live.Watch[string]) string {
	items, lost := w.Take()
	var list []string
	for _, item := range items {
		list = append(list, item.Value)
	}
	if lost {
		list = append(list, "lost")
	}
	return strings.Join(list, " ")
}

// TestFeed: every page gets the new items of its topic within a second, with one read for all pages
// and no reads without pages.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		f := l.feed()
		l.add(1, "old")
		a, b, c := f.Watch(1), f.Watch(1), f.Watch(2)
		time.Sleep(time.Second)
		l.add(1, "x")
		l.add(2, "y")
		l.add(3, "z")
		before := l.count()
		time.Sleep(time.Second)
		if n := l.count() - before; n > 2 {
			t.Errorf("%d reads in a second", n)
		}
		for i, w := range []*live.Watch[string]{a, b, c} {
			select {
			case <-w.Ready():
			default:
				t.Errorf("page %d is not told", i)
			}
			if got, want := values(w), []string{"x", "x", "y"}[i]; got != want {
				t.Errorf("page %d gets %q, want %q", i, got, want)
			}
		}
		if diff := cmp.Diff([]int64{1, 2}, l.reads[len(l.reads)-1]); diff != "" {
			t.Errorf("topics of a read (-want +got):\n%s", diff)
		}
		for _, w := range []*live.Watch[string]{a, b, c} {
			w.Close()
		}
		time.Sleep(time.Second)
		before = l.count()
		time.Sleep(time.Hour)
		if n := l.count() - before; n != 0 {
			t.Errorf("%d reads while nobody looks", n)
		}
	})
}

// TestCatchUp: items that appear between rendering a page and watching are found, once.
func TestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		f := l.feed()
		other := f.Watch(1) // so that the feed already reads
		defer other.Close()
		time.Sleep(time.Second)
		l.add(1, "a", "b")
		w := f.Watch(1)
		defer w.Close()
		time.Sleep(2 * time.Second)
		l.add(1, "c")
		items, lost, err := w.CatchUp(t.Context(), 1)
		if err != nil || lost || len(items) != 2 || items[0].Value != "b" || items[1].Value != "c" {
			t.Errorf("caught up with %v, lost %v, %v", items, lost, err)
		}
		l.add(1, "d")
		time.Sleep(time.Second)
		if got := values(w); got != "d" {
			t.Errorf("then %q", got)
		}
		l.add(1, make([]string, live.Page+1)...)
		if items, lost, err := w.CatchUp(t.Context(), 1); err != nil || !lost || len(items) != 0 {
			t.Errorf("more than a page: %d items, lost %v, %v", len(items), lost, err)
		}
	})
}

// TestLost: a page that takes nothing costs no more than a page of items, and is told to reload.
func TestLost(t *testing.T) {
	for name, n := range map[string]int{"more than a page": live.Page + 1, "more than a read": 5000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l list
				f := l.feed()
				w := f.Watch(1)
				defer w.Close()
				time.Sleep(time.Second)
				l.add(1, make([]string, n)...)
				time.Sleep(2 * time.Second)
				if got := values(w); got != "lost" {
					t.Errorf("got %q", got)
				}
				l.add(1, "next")
				time.Sleep(time.Second)
				if got := values(w); got != "next" {
					t.Errorf("after that %q", got)
				}
			})
		})
	}
}

// TestFailingReads: the database may be down for a while.
func TestFailingReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		l.fail(errors.New("away"))
		w := l.feed().Watch(1)
		defer w.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := w.CatchUp(ctx, 0); err == nil {
			t.Error("catching up hides the error")
		}
		time.Sleep(3 * time.Second)
		l.fail(nil)
		time.Sleep(time.Second)
		l.add(1, "a")
		l.fail(errors.New("away"))
		time.Sleep(3 * time.Second)
		l.fail(nil)
		time.Sleep(time.Second)
		if got := values(w); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

// TestCatchUpWithTheFirstPage: nothing is lost between catching up and the first read.
func TestCatchUpWithTheFirstPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := list{begin: func() { time.Sleep(time.Second) }}
		w := l.feed().Watch(1)
		defer w.Close()
		caught := make(chan string)
		go func() {
			items, _, err := w.CatchUp(t.Context(), 0)
			if err != nil || len(items) != 1 {
				t.Errorf("caught up with %v, %v", items, err)
			}
			close(caught)
		}()
		synctest.Wait()
		l.add(1, "between")
		<-caught
		l.add(1, "after")
		time.Sleep(time.Second)
		if got := values(w); got != "after" {
			t.Errorf("then %q", got)
		}
	})
}
