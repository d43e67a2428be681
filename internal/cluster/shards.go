package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"claviger/internal/sqldb"
)

// winner returns the node that should own a shard: each node has a random number for each shard,
// and the highest wins. When a node joins or leaves, only its own shards move.
func winner(shard int, peers map[string]peer, may func(peer) bool) string {
	var best string
	var top uint64
	for id, p := range peers {
		if !may(p) {
			continue
		}
		if n := rank(shard, id); best == "" || n > top { // mutate: equivalent because no two nodes have the same number
			best = id
			top = n
		}
	}
	return best
}

// rank returns the number of a node for a shard, the same on every node.
func rank(shard int, node string) uint64 {
	sum := sha256.Sum256([]byte(node + "/" + strconv.Itoa(shard)))
	return binary.BigEndian.Uint64(sum[:])
}

func stays(p peer) bool { return !p.leaving }

func present(p peer) bool { return !p.leaving && !p.late }

// silent returns the nodes to be considered dead. They have expired by the database's clock. They
// have also been silent for longer than their claims hold by this node's clock, because the
// database's clock may have been set.
func (m *member) silent() (ids []string) {
	longest := int64(m.node.times().Hold + m.node.times().Beat)
	for id, p := range m.peers {
		if p.late && id != m.id && m.last-p.seen >= longest {
			ids = append(ids, id)
		}
	}
	return ids
}

// reap removes silent nodes and ends their connections: a node stopped inside a transaction would
// block the others by its locks. A node that was itself cut off or stopped first lets the others
// renew their rows.
func (m *member) reap(ctx context.Context) error {
	silent := m.silent()
	if len(silent) == 0 || m.last-m.since < int64(m.node.times().Steady) {
		return nil
	}
	type reaped struct {
		id       string
		sessions int64
	}
	dead, err := sqldb.All(ctx, m.conn, func(r *sqldb.Row, d *reaped) error { return r.Scan(&d.id, &d.sessions) },
		`WITH dead AS (DELETE FROM nodes WHERE node IN (
				SELECT node FROM nodes WHERE node = ANY($1)
				AND until < `+m.conn.Clock()+m.conn.SkipLocked+`)
			RETURNING node, sessions, host, version, started_at, beat_at),
		kept AS (INSERT INTO silent_nodes (node, host, version, started_at, beat_at)
			SELECT node, host, version, started_at, beat_at FROM dead),
		old AS (DELETE FROM silent_nodes WHERE beat_at < `+m.conn.Clock()+` - $2)
		SELECT node, `+m.conn.EndSessions("dead.sessions")+` FROM dead`, silent, int64(2*Return))
	for _, d := range dead {
		m.node.Log.Warn(
			"a node was silent for too long; the others take over its work",
			"node",
			d.id,
			"connections",
			d.sessions,
		)
		delete(m.peers, d.id)
	}
	return err
}

// version encodes a row of a shard as one number.
func version(c Claim) int64 { return c.Epoch*Shards + int64(c.Shard) }

// move transfers shards from one node to another if their rows are unchanged since they were read.
// Locked rows wait for the next time.
func (m *member) move(ctx context.Context, from, to string, rows []Claim) ([]Claim, error) {
	versions := make([]int64, len(rows))
	for i, c := range rows {
		versions[i] = version(c)
	}
	moved, err := sqldb.All(ctx, m.conn, scanClaim, `WITH free AS MATERIALIZED (
			SELECT shard FROM shards WHERE node = $1
			AND epoch * $4 + shard = ANY($3)`+m.conn.SkipLocked+`)
		UPDATE shards SET node = $2, epoch = epoch + 1 WHERE shard IN (SELECT shard FROM free)
		RETURNING shard, node, epoch`, from, to, versions, int64(Shards))
	m.hurry = m.hurry || err == nil && len(moved) < len(rows)
	return moved, err
}

// claim gains the shards of vanished nodes that this one should own.
func (m *member) claim(ctx context.Context) error {
	orphans := make(map[string][]Claim) // by previous owner
	for shard, row := range m.rows {
		if _, there := m.peers[row.Node]; !there && m.parts[shard].stage == foreign &&
			winner(shard, m.peers, stays) == m.id {
			orphans[row.Node] = append(orphans[row.Node], row)
		}
	}
	for from, rows := range orphans {
		gained, err := m.move(ctx, from, m.id, rows)
		if err != nil {
			return err
		}
		for _, c := range gained {
			m.gain(c)
		}
	}
	return nil
}

func (m *member) gain(c Claim) {
	m.parts[c.Shard] = part{stage: owned, claim: c}
	m.node.gain(c)
}

// handOver begins to release one shard that another node should own, unless the last handover is
// too recent.
func (m *member) handOver(ctx context.Context) {
	if m.last-m.handedOver < int64(m.node.times().HandOver) {
		return
	}
	for shard, p := range m.parts {
		if p.stage != owned {
			continue
		}
		if to := winner(shard, m.peers, stays); to != m.id && !m.peers[to].late {
			m.handedOver = m.last
			m.release(ctx, shard)
			return
		}
	}
}

// release calls Release for a shard, in its own goroutine.
func (m *member) release(ctx context.Context, shard int) {
	p := &m.parts[shard]
	ctx, p.cut = context.WithTimeout(context.WithoutCancel(ctx), m.node.times().Drain)
	p.stage = releasing
	m.node.stopBeginning(p.claim)
	claim := p.claim
	end := p.cut
	m.background(shard, func() {
		defer end() // mutate: equivalent because it only frees a timer early
		m.node.release(ctx, claim)
		m.node.shards[shard].Store(nil)
	})
}

// lose ends a claim that the rows no longer show.
func (m *member) lose(shard int) {
	p := &m.parts[shard]
	m.node.shards[shard].Store(nil)
	switch p.stage {
	case owned:
		p.stage = losing
		c := p.claim
		if m.node.Lost != nil {
			m.background(shard, func() { m.node.Lost(c) })
		} else {
			p.stage = foreign
		}
	case releasing:
		p.stage = losing
		p.cut()
	case released:
		p.stage = foreign
	case foreign, losing:
	}
}

// loseAll ends every claim, and returns when nothing is being sent.
func (m *member) loseAll() {
	m.id = ""
	for shard, p := range m.parts {
		if p.stage != foreign {
			m.lose(shard)
		}
	}
	m.running.Wait()
	m.takeEnded()
}

// background runs a call of Release or Lost, and signals its end to the loop.
func (m *member) background(shard int, call func()) {
	m.running.Go(func() {
		call()
		m.ended <- shard
		select {
		case m.wake <- struct{}{}:
		default:
		}
	})
}

// takeEnded records the finished calls of Release and Lost.
func (m *member) takeEnded() {
	for {
		select {
		case shard := <-m.ended:
			if p := &m.parts[shard]; p.stage == releasing {
				p.stage = released
			} else {
				p.stage = foreign
			}
		default:
			return
		}
	}
}

// give transfers released shards to the nodes that should own them, and notifies these.
func (m *member) give(ctx context.Context) error {
	given := make(map[string][]Claim) // by new owner; "" if there is none
	for shard, p := range m.parts {
		if p.stage == released {
			to := winner(shard, m.peers, present)
			given[to] = append(given[to], p.claim)
		}
	}
	for to, rows := range given {
		moved, err := m.move(ctx, m.id, to, rows)
		if err != nil {
			return err
		}
		for _, c := range moved {
			m.parts[c.Shard].stage = foreign
			if to == m.id {
				m.gain(c)
			}
		}
	}
	if len(given) == 0 {
		return nil
	}
	return m.conn.Notify(ctx, channel, "")
}

// deregister releases every shard immediately and removes this node's row. Without the database that
// fails, and others take over when this node has expired.
func (m *member) deregister(ctx context.Context) error {
	defer func() { m.disconnect(ctx) }()
	m.leaving = true
	for shard, p := range m.parts {
		if p.stage == owned {
			m.release(ctx, shard)
		}
	}
	var quiet int64                           // since when nothing has been running
	longest := int64(m.node.times().Hold / 2) // mutate: equivalent because any time will do
	for m.id != "" {
		err := m.tick(ctx)
		if err == nil && m.all(foreign) {
			break
		}
		if m.all(foreign, released) {
			if quiet = cmp.Or(quiet, m.last); m.last-quiet > longest {
				return err
			}
		}
		m.pause(ctx)
	}
	if m.id == "" {
		return nil
	}
	return m.remove(ctx)
}

// all reports whether every shard is at one of these stages.
func (m *member) all(stages ...stage) bool {
	for _, p := range m.parts {
		if !slices.Contains(stages, p.stage) {
			return false
		}
	}
	return true
}

// remove deletes this node's row.
func (m *member) remove(ctx context.Context) error {
	ctx, cancel := m.limit(ctx)
	defer cancel() // mutate: equivalent because it only frees a timer early
	_, err := m.conn.Exec(ctx, `DELETE FROM nodes WHERE node = $1`, m.id)
	return err
}
