package cluster

// WinnerOf is the node that should own a shard.
func WinnerOf(shard int, ids ...string) string {
	peers := make(map[string]peer, len(ids))
	for _, id := range ids {
		peers[id] = peer{id: id}
	}
	return winner(shard, peers, stays)
}

// SetClock makes the node read its time from a function, by both clocks.
func (n *Node) SetClock(clock func() (steady, wall int64)) { n.until.clock = clock }

// Clock is the time by both clocks.
func Clock() (steady, wall int64) { return clock() }
