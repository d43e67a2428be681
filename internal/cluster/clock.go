package cluster

import (
	"fmt"
	"time"
)

// MaxClockOff is the maximum difference between a node's clock and the database's. A node with a
// larger one must not delete by age: it could be a year ahead, and its deletions affect all nodes.
const MaxClockOff = 2 * time.Minute

// reading is the database's clock at a time of this node's steady clock.
type reading struct {
	database int64
	steady   int64
}

// ClockOff returns how far this node's clock is ahead of the database's; negative means behind.
// Each beat reads the database's clock. The steady clock, which no one sets, counts from there, so
// a step of this node's clock shows immediately. It is 0 before the first beat, and on SQLite,
// which uses this machine's clock.
func (n *Node) ClockOff() time.Duration {
	if n == nil {
		return 0
	}
	last := n.read.Load()
	if last == nil {
		return 0
	}
	now := time.Now
	if n.Now != nil {
		now = n.Now
	}
	steady, _ := n.until.now()
	return time.Duration(now().UnixNano() - last.database - (steady - last.steady))
}

// CheckClock returns an error while this node's clock is too far off to delete by it.
func (n *Node) CheckClock() error {
	off := n.ClockOff().Round(time.Second)
	if off.Abs() <= MaxClockOff {
		return nil
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return fmt.Errorf("the clock of this node is %v %s the database's; let both follow a time server", off.Abs(), way)
}

// noteClock stores a reading, and logs when the clock becomes too far off and when that ends.
func (n *Node) noteClock(r reading) {
	n.read.Store(&r)
	err := n.CheckClock()
	switch was := n.clockOff.Swap(err != nil); {
	case err != nil && !was:
		n.Log.Warn("the clock is wrong: this node deletes no expired rows until it is right", "err", err)
	case err == nil && was:
		n.Log.Info("the clock is right again: this node deletes expired rows")
	}
}
