package cluster

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// channel is where nodes tell one another that they gave up a shard (""), or that a job
// has something to do (its name).
const channel = "claviger_cluster"

// member is this node's part in a cluster on PostgreSQL. One goroutine runs it; Release
// and Lost run in goroutines of their own, so that nothing delays a beat.
//
// All statements are transactions of their own on a connection of their own, and none
// waits for a row that another transaction has locked.
type member struct {
	node *Node
	conn *sqldb.Reserved // nil: to be opened
	id   string          // of this registration; "": there is none

	peers map[string]peer // the nodes as read last, by id; this one is among them
	rows  [Shards]Claim   // the shards as read last
	parts [Shards]part

	last       int64 // when the last beat began, by the steady clock
	since      int64 // when the first of an unbroken row of beats began; 0: none
	handedOver int64 // when the last shard was
	failed     int   // ticks in a row
	hurry      bool  // something is to be tried again soon
	leaving    bool

	running sync.WaitGroup // calls of Release and Lost
	ended   chan int       // shards of which such a call has ended
	wake    chan struct{}  // one has
	asks    chan struct{}  // another node is asked for something
}

// peer is another node, or this one.
type peer struct {
	id      string
	leaving bool // it gets no more shards
	late    bool // its time has run out, by the database's clock
	until   int64
	seen    int64 // since when until has been the same, by this node's steady clock
}

// stage is how far this node is with a shard.
type stage int

const (
	foreign   stage = iota // another node's, or nobody's
	owned                  // this node's
	releasing              // Release runs
	released               // it has ended, and the row is to be given to another node
	losing                 // Lost runs
)

// part is a shard as this node sees it.
type part struct {
	stage stage
	claim Claim
	cut   context.CancelFunc // of what Release was called with
}

// run takes part until ctx ends, and leaves.
func (m *member) run(ctx context.Context) error {
	m.ended, m.wake = make(chan int, Shards), make(chan struct{}, 1)
	m.asks = make(chan struct{}, 1)
	m.node.jobs.listen(m.asks)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { m.node.watch(watching) })
	defer watch.Wait()
	defer stop()
	for ctx.Err() == nil {
		m.report(ctx, m.tick(ctx))
		m.pause(ctx)
	}
	return m.leave(context.WithoutCancel(ctx))
}

// report makes the node unready when ticks fail for as long as claims hold.
func (m *member) report(ctx context.Context, err error) {
	switch {
	case err == nil:
		m.failed = 0
		m.node.note(nil)
	case ctx.Err() == nil:
		m.failed++
		if m.node.until.passed() || time.Duration(m.failed)*m.node.times().Beat >= m.node.times().Hold {
			m.node.note(err)
		}
	}
}

// tick beats, and does what the beat shows that there is to do.
func (m *member) tick(ctx context.Context) error {
	ctx, cancel := m.limit(ctx)
	defer cancel() // mutate: equivalent because it only frees a timer early
	m.takeEnded()
	err := m.beat(ctx)
	if err != nil {
		m.since = 0
	}
	for _, act := range []func(context.Context) error{m.reap, m.claim, m.give, m.passOn} {
		if err == nil && m.id != "" {
			err = act(ctx)
		}
	}
	if err != nil {
		m.disconnect(ctx)
		return err
	}
	m.handOver(ctx)
	return nil
}

// limit bounds statements: a beat that takes longer than half the time for which it
// holds is tried again on a new connection.
func (m *member) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, m.node.times().Hold/2)
}

// beat renews this node's row, or makes one, and reads what the others did. From its
// start claims hold for Times.Hold.
func (m *member) beat(ctx context.Context) error {
	steady, wall := m.node.until.now()
	gap := time.Duration(steady - m.last)
	if m.last = steady; m.since == 0 || gap > m.node.times().Hold/2 {
		m.since = steady
	}
	m.hurry = false
	if err := m.connect(ctx); err != nil {
		return err
	}
	if err := m.renew(ctx); err != nil || m.id == "" {
		return err
	}
	if err := m.read(ctx); err != nil {
		return err
	}
	gained := m.compare()
	m.node.until.set(steady, wall, m.node.times().Hold)
	for _, c := range gained {
		m.gain(c)
	}
	return nil
}

func (m *member) connect(ctx context.Context) error {
	if m.conn != nil {
		return nil
	}
	conn, err := m.node.DB.Reserve(ctx)
	if err != nil {
		return err
	}
	m.conn = conn
	return conn.Listen(ctx, channel)
}

func (m *member) disconnect(ctx context.Context) {
	if m.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = m.conn.Close(ctx) // it is given up
	m.conn = nil
}

// renew moves the end of this node's row ahead. Where there is no row, others have taken
// this node for dead: all its claims are over, and it registers under a new id.
func (m *member) renew(ctx context.Context) error {
	if m.id != "" {
		n, err := m.conn.Exec(ctx, `UPDATE nodes SET until = `+m.conn.Clock()+` + $2, leaving = $3 WHERE node = $1`,
			m.id, int64(m.node.times().Life), m.leaving)
		if err != nil || n > 0 {
			return err
		}
		m.node.Log.Warn("the others took this node for dead; it joins again")
		m.loseAll()
	}
	if m.leaving {
		return nil
	}
	id := rand.Text()
	// An earlier try may have made a row although its answer was lost.
	_, err := m.conn.Exec(ctx, `WITH earlier AS (DELETE FROM nodes WHERE sessions = $2)
		INSERT INTO nodes (node, sessions, until, leaving) VALUES ($1, $2, `+m.conn.Clock()+` + $3, FALSE)`,
		id, m.node.DB.SessionName(), int64(m.node.times().Life))
	if err == nil {
		m.id = id
	}
	return err
}

// read reads shards and nodes, in this order: who sees a shard that it was given sees also
// that the giver leaves.
func (m *member) read(ctx context.Context) error {
	rows, err := sqldb.All(ctx, m.conn, scanClaim, `SELECT shard, node, epoch FROM shards`)
	if err != nil {
		return err
	}
	peers, err := sqldb.All(ctx, m.conn, func(r *sqldb.Row, p *peer) error {
		p.seen = m.last
		return r.Scan(&p.id, &p.leaving, &p.late, &p.until)
	}, `SELECT node, leaving, until < `+m.conn.Clock()+`, until FROM nodes`)
	if err != nil {
		return err
	}
	before := m.peers
	m.peers = make(map[string]peer, len(peers))
	for _, p := range peers {
		if b := before[p.id]; b.until == p.until {
			p.seen = b.seen
		}
		m.peers[p.id] = p
	}
	for _, c := range rows {
		m.rows[c.Shard] = c
	}
	return nil
}

// compare ends the claims that the rows no longer show, and returns those that they
// show and this node does not know.
func (m *member) compare() (gained []Claim) {
	for shard := range m.parts {
		row, p := m.rows[shard], &m.parts[shard]
		if p.stage != foreign && row != p.claim {
			m.lose(shard)
		}
		switch {
		case p.stage != foreign || row.Node != m.id:
		case m.leaving: // it was given to this node before the others knew
			p.stage, p.claim = released, row
		default:
			gained = append(gained, row)
		}
	}
	return gained
}

// pause waits for the next beat, or for a reason to have it early. Meanwhile it passes
// on what other nodes are asked for.
func (m *member) pause(ctx context.Context) {
	wait := m.node.times().Beat
	if m.hurry {
		wait /= 10
	}
	now, _ := m.node.until.now()
	ctx, cancel := context.WithTimeout(ctx, wait-time.Duration(now-m.last))
	defer cancel()
	for m.rest(ctx) && ctx.Err() == nil {
		if err := m.passOn(context.WithoutCancel(ctx)); err != nil {
			m.disconnect(ctx)
		}
	}
}

// rest waits until ctx ends or there is something to do, and reports whether that is
// only to pass something on.
func (m *member) rest(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asks, asked := m.asks, false
	if m.conn == nil {
		asks = nil // they wait for the next beat
	}
	var signals sync.WaitGroup
	signals.Go(func() {
		defer cancel()
		select {
		case <-m.wake:
		case <-asks:
			asked = true
		case <-ctx.Done():
		}
	})
	heard := m.conn != nil && m.hear(ctx)
	if !heard {
		<-ctx.Done()
	}
	cancel()
	signals.Wait()
	return asked && !heard
}

// hear wakes the jobs that other nodes ask for, and reports whether another node gave
// up a shard. It ends with ctx, or without the connection.
func (m *member) hear(ctx context.Context) bool {
	for {
		_, job, err := m.conn.Wait(ctx)
		switch {
		case err == nil && job == "":
			return true
		case err == nil && m.node.Does(job):
			m.node.jobs.wake(job)
		case err != nil:
			if m.conn.Closed() {
				m.disconnect(ctx)
			}
			return false
		}
	}
}

// passOn tells the other nodes which jobs have something to do.
func (m *member) passOn(ctx context.Context) error {
	asked := m.node.jobs.takeAsked()
	if len(asked) == 0 {
		return nil
	}
	ctx, cancel := m.limit(ctx)
	defer cancel() // mutate: equivalent because it only frees a timer early
	return m.conn.Notify(ctx, channel, asked...)
}

// watch cuts what is under way when the claims' time has run out, up to a tenth of a
// beat later. A timer would not do: its clock may stand still while the machine sleeps.
func (n *Node) watch(ctx context.Context) {
	ticker := time.NewTicker(n.times().Beat / 10)
	defer ticker.Stop()
	for cut := true; ; { // before the first beat there is nothing to cut
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch passed := n.until.passed(); {
		case !passed:
			cut = false
		case !cut:
			cut = true
			n.Log.Warn("no beat reached the database in time; requests under way are cut")
			if n.Cut != nil {
				n.Cut()
			}
		}
	}
}
