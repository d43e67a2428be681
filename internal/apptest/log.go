package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Log stores log lines as JSON. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	text     bytes.Buffer
	attempts chan string // nil: not followed
}

// Write adds a line to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if l.attempts == nil || !bytes.Contains(p, []byte(`"msg":"webhook attempt"`)) {
		return len(p), nil
	}
	var line struct {
		Event   int64  `json:"event_id"`
		Outcome string `json:"outcome"`
	}
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	l.attempts <- fmt.Sprint(line.Event, " ", line.Outcome)
	return len(p), nil
}

// String returns the log so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// ShowErrors prints the logged errors at the end of a failed test: the answer to a request has only
// a request id.
func (l *Log) ShowErrors(t testing.TB) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for line := range strings.Lines(l.String()) {
			if strings.Contains(line, `"level":"ERROR"`) {
				t.Log(strings.TrimSpace(line))
			}
		}
	})
}

// Attempts returns each attempt to deliver a webhook from now on, once it is recorded.
func (l *Log) Attempts() Attempts {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = make(chan string, 1000)
	return l.attempts
}

// Attempts are attempts to deliver webhooks, such as "42 delivered".
type Attempts <-chan string

// Next waits for the next attempt.
func (a Attempts) Next(t testing.TB) string {
	t.Helper()
	select {
	case line := <-a:
		return line
	case <-t.Context().Done():
		t.Fatal("no attempt came")
		return ""
	}
}
