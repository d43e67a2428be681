package wire

import (
	"testing"
	"time"
)

// TestShareRemembersNobody: a key that holds nothing and has no waiting call takes no memory.
func TestShareRemembersNobody(t *testing.T) {
	s := &Share{Total: 2, Patience: time.Nanosecond}
	if err := s.Acquire(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Acquire(t.Context(), "b", 2); err == nil {
		t.Fatal("b got more than there is")
	}
	s.Release("a", 1)
	if len(s.holders) != 0 || s.queue.Len() != 0 || s.used != 0 {
		t.Errorf("%d keys are remembered, %d wait, %d is held", len(s.holders), s.queue.Len(), s.used)
	}
}
