package cluster_test

import (
	"strings"
	"sync"
)

// lines is a log to wait on.
type lines struct {
	mu   sync.Mutex
	all  []string
	news chan struct{}
}

func newLines() *lines { return &lines{news: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(strings.Join(l.all, ""), text)
}

// await waits until the log contains a text.
func (l *lines) await(text string) {
	for l.count(text) == 0 {
		<-l.news
	}
}
