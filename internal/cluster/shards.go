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

// winner is the node that should own a shard: each node has a random number for each
// shard, and the highest wins. When a node joins or leaves, only its own shards move.
func winner(shard int, peers map[string]peer, may func(peer) bool) string {
	var best string
	var top uint64
	for id, p := range peers {
		if !may(p) {
			continue
		}
		if n := rank(shard, id); best == "" || n > top { // mutate: equivalent because no two nodes have the same number
			best, top = id, n
		}
	}
	return best
}

// rank is the number of a node for a shard, the same on every node.
func rank(shard int, node string) uint64 {
	sum := sha256.Sum256([]byte(node + "/" + strconv.Itoa(shard)))
	return binary.BigEndian.Uint64(sum[:])
}

func stays(p peer) bool { return !p.leaving }

func present(p peer) bool { return !p.leaving && !p.late }

// silent returns the nodes that others may take for dead: their time has run out by
// the database's clock, and they have given no sign for longer than their claims hold
// by this node's own clock, since the database's may have been set.
func (m *member) silent() (ids []string) {
	longest := int64(m.node.times().Hold + m.node.times().Beat)
	for id, p := range m.peers {
		if p.late && id != m.id && m.last-p.seen >= longest {
			ids = append(ids, id)
		}
	}
	return ids
}

// reap removes silent nodes and ends their connections: what a node holds that is
// stopped inside a transaction would block the others. A node that was itself cut off
// or stopped first lets the others renew their rows.
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
				SELECT node FROM nodes WHERE node = ANY($1) AND until < `+m.conn.Clock()+m.conn.ForNoKeyUpdateSkipLocked()+`)
			RETURNING node, sessions)
		SELECT node, `+m.conn.EndSessions("dead.sessions")+` FROM dead`, silent)
	for _, d := range dead {
		m.node.Log.Warn("a node was silent for too long; the others take over its work", "node", d.id, "connections", d.sessions)
		delete(m.peers, d.id)
	}
	return err
}

// version is a row of a shard as one number.
func version(c Claim) int64 { return c.Epoch*Shards + int64(c.Shard) }

// move gives shards from one node to another, those of which the row is still as it was
// read. A row that somebody has locked is left for the next time.
func (m *member) move(ctx context.Context, from, to string, rows []Claim) ([]Claim, error) {
	versions := make([]int64, len(rows))
	for i, c := range rows {
		versions[i] = version(c)
	}
	moved, err := sqldb.All(ctx, m.conn, scanClaim, `WITH free AS MATERIALIZED (
			SELECT shard FROM shards WHERE node = $1 AND epoch * $4 + shard = ANY($3)`+m.conn.ForNoKeyUpdateSkipLocked()+`)
		UPDATE shards SET node = $2, epoch = epoch + 1 WHERE shard IN (SELECT shard FROM free)
		RETURNING shard, node, epoch`, from, to, versions, int64(Shards))
	m.hurry = m.hurry || err == nil && len(moved) < len(rows)
	return moved, err
}

// claim gains the shards whose node is no longer there, if this one is the winner.
func (m *member) claim(ctx context.Context) error {
	orphans := make(map[string][]Claim) // by the owner that they had
	for shard, row := range m.rows {
		if _, there := m.peers[row.Node]; !there && m.parts[shard].stage == foreign && winner(shard, m.peers, stays) == m.id {
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

// handOver begins to release one shard that another node should own; when the last one
// began too short a time ago, none.
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

// release calls Release for a shard, in a goroutine of its own.
func (m *member) release(ctx context.Context, shard int) {
	p := &m.parts[shard]
	ctx, p.cut = context.WithTimeout(context.WithoutCancel(ctx), m.node.times().Drain)
	p.stage = releasing
	m.node.stopBeginning(p.claim)
	claim, end := p.claim, p.cut
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
		if c := p.claim; m.node.Lost != nil {
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

// loseAll ends every claim, and returns when nothing is being sent any more.
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

// background runs a call of the user's, and tells the loop of its end.
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

// takeEnded notes which calls of Release and Lost have ended.
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

// give gives released shards to the nodes that should own them, and tells these.
func (m *member) give(ctx context.Context) error {
	given := make(map[string][]Claim) // by the new owner; "" where there is none
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
			if m.parts[c.Shard].stage = foreign; to == m.id {
				m.gain(c)
			}
		}
	}
	if len(given) == 0 {
		return nil
	}
	return m.conn.Notify(ctx, channel, "")
}

// leave releases every shard at once and removes this node's row. Without the database
// that fails, and others take over when this node's time has run out.
func (m *member) leave(ctx context.Context) error {
	defer func() { m.disconnect(ctx) }()
	m.leaving = true
	for shard, p := range m.parts {
		if p.stage == owned {
			m.release(ctx, shard)
		}
	}
	var quiet int64                           // since when nothing has been under way
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
