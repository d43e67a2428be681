package live

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Versions notify pages about one thing, such as a delivery or a recovery, when it has changed. Set
// the exported fields before the first use.
type Versions struct {
	// Read returns a version string for each topic, which changes whenever the thing does, such as
	// the time of its last change. It omits topics that do not exist.
	Read func(ctx context.Context, topics []int64) (map[int64]string, error)

	Every time.Duration // interval of reads; 0 is 800 ms
	Log   *slog.Logger  // nil: slog.Default

	mu      sync.Mutex
	watches map[*VersionWatch]bool
	stop    context.CancelFunc // of the reading goroutine; nil: not running
}

// VersionWatch is one open page that watches a topic.
type VersionWatch struct {
	versions *Versions
	topic    int64
	ready    Signal
	version  string // last version that was read or that the page has
	changed  bool   // since the last Take
}

// Of returns the current version of a topic, "" if it does not exist. A page must call it before it
// reads its data, and pass the version to Watch.
func (s *Versions) Of(ctx context.Context, topic int64) (string, error) {
	found, err := s.Read(ctx, []int64{topic})
	if err != nil {
		return "", fmt.Errorf("read the version of a page: %w", err)
	}
	return found[topic], nil
}

// Watch starts watching a topic for a page with the version seen. Call Close when the page is
// closed.
func (s *Versions) Watch(topic int64, seen string, ready Signal) *VersionWatch {
	w := &VersionWatch{versions: s, topic: topic, ready: ready, version: seen}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches == nil {
		s.watches = make(map[*VersionWatch]bool)
	}
	s.watches[w] = true
	if s.stop == nil {
		// Not the context of a request: one read serves all pages. Nothing of the first page's
		// request, such as its trace, may reach the reads for the others.
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go repeat(ctx, s.Every, s.Log, s.round)
	}
	return w
}

// Close ends the watch.
func (w *VersionWatch) Close() {
	s := w.versions
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
	if len(s.watches) == 0 && s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// Take returns the version, and whether it has changed since the last call.
func (w *VersionWatch) Take() (version string, changed bool) {
	w.versions.mu.Lock()
	defer w.versions.mu.Unlock()
	version = w.version
	changed = w.changed
	w.changed = false
	return version, changed
}

// round reads the versions of all watched topics and signals the pages with other ones.
func (s *Versions) round(ctx context.Context) error {
	found, err := s.Read(ctx, s.topics())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if version, ok := found[w.topic]; ok && version != w.version {
			w.version = version
			w.changed = true
			w.ready.send()
		}
	}
	return nil
}

// topics lists the watched topics, each once.
func (s *Versions) topics() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]int64, 0, len(s.watches))
	for w := range s.watches {
		list = append(list, w.topic)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
