package live_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/live"
)

// things has the versions by topic for the pages of a test.
type things struct {
	mu    sync.Mutex
	of    map[int64]string
	reads [][]int64
	err   error
}

func (s *things) versions() *live.Versions {
	return &live.Versions{Log: slog.New(slog.DiscardHandler), Read: func(_ context.Context, topics []int64) (map[int64]string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads = append(s.reads, topics)
		return maps.Clone(s.of), s.err
	}}
}

func (s *things) set(topic int64, version string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[topic], s.err = version, err
}

func (s *things) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

// taken returns the notification of a page, if any.
func taken(w *live.VersionWatch, ready live.Signal) string {
	select {
	case <-ready:
	default:
		return "nothing"
	}
	version, changed := w.Take()
	return fmt.Sprint(version, " ", changed)
}

// TestVersions: every page is notified within a second of a change, with one read for all pages. It
// is not notified of the version it already has, and nothing is read without pages.
func TestVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := things{of: map[int64]string{1: "a", 2: "x"}}
		versions := s.versions()
		seen, err := versions.Of(t.Context(), 1)
		if seen != "a" || err != nil {
			t.Fatalf("version %q, %v", seen, err)
		}
		readies := []live.Signal{live.NewSignal(), live.NewSignal(), live.NewSignal(), live.NewSignal()}
		pages := []*live.VersionWatch{
			versions.Watch(1, "a", readies[0]), versions.Watch(1, "older", readies[1]),
			versions.Watch(2, "x", readies[2]), versions.Watch(3, "gone", readies[3]),
		}
		look := func() (got []string) {
			for i, w := range pages {
				got = append(got, taken(w, readies[i]))
			}
			return got
		}
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"nothing", "a true", "nothing", "nothing"}, look()); diff != "" {
			t.Errorf("at first (-want +got):\n%s", diff)
		}
		before := s.count()
		s.set(1, "b", nil)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"b true", "b true", "nothing", "nothing"}, look()); diff != "" {
			t.Errorf("after a change (-want +got):\n%s", diff)
		}
		if n := s.count() - before; n > 2 {
			t.Errorf("%d reads in a second", n)
		}
		if diff := cmp.Diff([]int64{1, 2, 3}, s.reads[len(s.reads)-1]); diff != "" {
			t.Errorf("topics of a read (-want +got):\n%s", diff)
		}
		for i := range 5 { // also at other times between two reads
			version := fmt.Sprint("b", i)
			s.set(1, version, nil)
			time.Sleep(time.Second)
			if diff := cmp.Diff([]string{version + " true", version + " true", "nothing", "nothing"}, look()); diff != "" {
				t.Errorf("a second after change %d (-want +got):\n%s", i, diff)
			}
		}
		s.set(2, "y", errors.New("away"))
		time.Sleep(3 * time.Second)
		if got := look(); got[2] != "nothing" {
			t.Errorf("while the database is away: %q", got)
		}
		s.set(2, "y", nil)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"nothing", "nothing", "y true", "nothing"}, look()); diff != "" {
			t.Errorf("then (-want +got):\n%s", diff)
		}
		for _, w := range pages {
			w.Close()
		}
		time.Sleep(time.Second)
		before = s.count()
		time.Sleep(time.Hour)
		if n := s.count() - before; n != 0 {
			t.Errorf("%d reads while nobody looks", n)
		}
	})
}
