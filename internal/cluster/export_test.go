package cluster

import (
	"context"
	"time"
)

// WinnerOf returns the node that should own a shard.
func WinnerOf(shard int, ids ...string) string {
	peers := make(map[string]peer, len(ids))
	for _, id := range ids {
		peers[id] = peer{id: id}
	}
	return winner(shard, peers, stays)
}

// SetClock replaces both clocks of the node.
func (n *Node) SetClock(clock func() (steady, wall int64)) { n.until.clock = clock }

// Steps is a node on PostgreSQL that does one step at a time, by the test's clock.
type Steps struct {
	m    *member
	time int64
}

// NewSteps returns such a node.
func NewSteps(n *Node) *Steps {
	s := &Steps{m: &member{node: n, ended: make(chan int, Shards), wake: make(chan struct{}, 1)}, time: 1e9}
	s.ResetClock()
	return s
}

// Clock returns the time by both clocks.
func (s *Steps) Clock() (steady, wall int64) { return s.time, s.time }

// ResetClock sets both clocks to the test's.
func (s *Steps) ResetClock() { s.m.node.SetClock(s.Clock) }

// Pass advances the clock.
func (s *Steps) Pass(d time.Duration) { s.time += int64(d) }

// Tick does a complete beat.
func (s *Steps) Tick(ctx context.Context) error { return s.m.tick(ctx) }

// Beat renews the node's row and reads the others.
func (s *Steps) Beat(ctx context.Context) error { return s.m.beat(ctx) }

// ClaimShards gains the shards of vanished nodes.
func (s *Steps) ClaimShards(ctx context.Context) error { return s.m.claim(ctx) }

// Settle waits for the calls of Release and Lost.
func (s *Steps) Settle() { s.m.running.Wait() }

// ID returns the node's id.
func (s *Steps) ID() string { return s.m.id }

// Disconnect ends the node's connection.
func (s *Steps) Disconnect(ctx context.Context) { s.m.disconnect(ctx) }

// Hurries reports whether the next beat comes early.
func (s *Steps) Hurries() bool { return s.m.hurry }

// ShardOfJob returns the shard of a job's name.
func ShardOfJob(job string) int { return shardOfJob(job) }

// Pause waits as between two beats.
func (s *Steps) Pause(ctx context.Context) { s.m.pause(ctx) }

// Channel carries the messages between nodes.
const Channel = channel
