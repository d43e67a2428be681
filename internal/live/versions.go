package live

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Versions tell pages that show one thing, such as a delivery or a recovery, that it has
// changed. Set the exported fields before the first use.
type Versions struct {
	// Read returns a text for each of the topics that changes whenever the thing does, such
	// as the time of its last change. It leaves out what does not exist.
	Read func(ctx context.Context, topics []int64) (map[int64]string, error)

	Every time.Duration // between two reads; 0 is 800 ms
	Log   *slog.Logger  // nil: slog.Default

	mu      sync.Mutex
	watches map[*VersionWatch]bool
	stop    context.CancelFunc // of the goroutine that reads; nil: it does not run
}

// VersionWatch is one open page that looks at a topic.
type VersionWatch struct {
	versions *Versions
	topic    int64
	ready    Signal
	version  string // the last that was read or that the page has
	changed  bool   // since the last Take
}

// Of returns the version of a topic as it is now, "" if it does not exist. A page that is
// being made asks for it before it reads what it shows, and hands it to Watch.
func (s *Versions) Of(ctx context.Context, topic int64) (string, error) {
	found, err := s.Read(ctx, []int64{topic})
	if err != nil {
		return "", fmt.Errorf("read the version of a page: %w", err)
	}
	return found[topic], nil
}

// Watch begins to look at a topic for a page that has the version seen. Call Close when the
// page is closed.
func (s *Versions) Watch(ctx context.Context, topic int64, seen string, ready Signal) *VersionWatch {
	w := &VersionWatch{versions: s, topic: topic, ready: ready, version: seen}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches == nil {
		s.watches = make(map[*VersionWatch]bool)
	}
	s.watches[w] = true
	if s.stop == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // other pages may follow
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
	version, changed = w.version, w.changed
	w.changed = false
	return version, changed
}

// round reads the versions of all that is looked at and tells the pages that have others.
func (s *Versions) round(ctx context.Context) error {
	found, err := s.Read(ctx, s.topics())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if version, ok := found[w.topic]; ok && version != w.version {
			w.version, w.changed = version, true
			w.ready.send()
		}
	}
	return nil
}

// topics lists what is looked at, each once.
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
