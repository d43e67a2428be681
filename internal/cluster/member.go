package cluster

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// channel carries messages between nodes: "" after giving up a shard, or the name of a job that has
// work.
const channel = "claviger_cluster"

// member is this node's part in a cluster on PostgreSQL. One goroutine runs it; Release and Lost
// have their own, so that nothing delays a beat.
//
// Each statement is its own transaction on a dedicated connection, and none waits for a row that
// another transaction has locked.
type member struct {
	node *Node
	conn *sqldb.Reserved // nil: not open
	id   string          // of this registration; "": none

	peers map[string]peer // the nodes as read last, by id, including this one
	rows  [Shards]Claim   // the shards as read last
	parts [Shards]part

	last       int64 // start of the last beat, by the steady clock
	since      int64 // start of the current run of unbroken beats; 0: none
	handedOver int64 // time of the last handover
	failed     int   // failed ticks in a row
	hurry      bool  // retry something soon
	leaving    bool

	running sync.WaitGroup // calls of Release and Lost
	ended   chan int       // shards with a finished call
	wake    chan struct{}  // a call has finished
	asks    chan struct{}  // there is a message for other nodes
}

// peer is another node, or this one.
type peer struct {
	id      string
	leaving bool // gets no more shards
	late    bool // expired by the database's clock
	until   int64
	seen    int64 // since when until is unchanged, by this node's steady clock
}

// stage is the state of a shard on this node.
type stage int

const (
	foreign   stage = iota // owned by another node or none
	owned                  // owned by this node
	releasing              // Release runs
	released               // Release has ended; the row must go to another node
	losing                 // Lost runs
)

// part is a shard as this node sees it.
type part struct {
	stage stage
	claim Claim
	cut   context.CancelFunc // cancels the context of Release
}

// run takes part until ctx ends, then leaves.
func (m *member) run(ctx context.Context) error {
	m.ended = make(chan int, Shards)
	m.wake = make(chan struct{}, 1)
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
	return m.deregister(context.WithoutCancel(ctx))
}

// report makes the node unready when ticks have failed for as long as claims hold.
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

// tick beats, then acts on the result.
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

// limit bounds statements: a beat that takes longer than half of Hold is retried on a new
// connection.
func (m *member) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, m.node.times().Hold/2)
}

// beat renews or creates this node's row and reads the others. Claims hold for Times.Hold from its
// start.
func (m *member) beat(ctx context.Context) error {
	steady, wall := m.node.until.now()
	gap := time.Duration(steady - m.last)
	m.last = steady
	if m.since == 0 || gap > m.node.times().Hold/2 {
		m.since = steady
	}
	m.hurry = false
	if err := m.connect(ctx); err != nil {
		return err
	}
	if err := m.checkVersion(ctx); err != nil {
		return err
	}
	if err := m.renew(ctx); err != nil || m.id == "" {
		return err
	}
	if err := m.load(ctx); err != nil {
		return err
	}
	gained := m.compare()
	m.node.until.set(steady, wall, m.node.times().Hold)
	for _, c := range gained {
		m.gain(c)
	}
	return nil
}

// checkVersion keeps a node that is too old for the schema from working, also after a pause. It may
// still leave in order.
func (m *member) checkVersion(ctx context.Context) error {
	if m.leaving {
		return nil
	}
	return sqldb.CheckVersion(ctx, m.conn, m.node.version())
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
	_ = m.conn.Close(ctx) // abandoned anyway
	m.conn = nil
}

// renew extends this node's row. If the row is missing, others considered this node dead: all its
// claims are over, and it registers under a new id.
func (m *member) renew(ctx context.Context) error {
	if m.id != "" {
		n, err := m.conn.Exec(ctx,
			`UPDATE nodes SET until = `+m.conn.Clock()+` + $2, leaving = $3, beat_at = `+m.conn.Clock()+`
			WHERE node = $1`,
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
	// An earlier attempt may have created a row although its answer was lost.
	_, err := m.conn.Exec(ctx, `WITH earlier AS (DELETE FROM nodes WHERE sessions = $2)
		INSERT INTO nodes (node, sessions, until, leaving, host, version, started_at, beat_at)
		VALUES ($1, $2, `+m.conn.Clock()+` + $3, FALSE, $4, $5, $6, `+m.conn.Clock()+`)`,
		id, m.node.DB.SessionName(), int64(m.node.times().Life), m.node.Host, m.node.version(), begun)
	if err == nil {
		m.id = id
	}
	return err
}

// load reads shards and then nodes. In this order, a node that sees a shard given to it also sees
// that the giver is leaving.
func (m *member) load(ctx context.Context) error {
	rows, err := sqldb.All(ctx, m.conn, scanClaim, `SELECT shard, node, epoch FROM shards`)
	if err != nil {
		return err
	}
	var at reading
	at.steady, _ = m.node.until.now()
	peers, err := sqldb.All(ctx, m.conn, func(r *sqldb.Row, p *peer) error {
		p.seen = m.last
		return r.Scan(&p.id, &p.leaving, &p.late, &p.until, &at.database)
	}, `SELECT node, leaving, until < `+m.conn.Clock()+`, until, `+m.conn.Clock()+` FROM nodes`)
	if err != nil {
		return err
	}
	if len(peers) > 0 {
		m.node.noteClock(at)
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

// compare ends the claims that the rows no longer show, and returns new ones.
func (m *member) compare() (gained []Claim) {
	for shard := range m.parts {
		row := m.rows[shard]
		p := &m.parts[shard]
		if p.stage != foreign && row != p.claim {
			m.lose(shard)
		}
		switch {
		case p.stage != foreign || row.Node != m.id:
		case m.leaving: // given to this node before the others knew
			p.stage = released
			p.claim = row
		default:
			gained = append(gained, row)
		}
	}
	return gained
}

// pause waits for the next beat, or for a reason to have it early. Meanwhile it forwards messages
// to other nodes.
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

// rest waits until ctx ends or there is work, and reports whether that is only a message to
// forward.
func (m *member) rest(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asks := m.asks
	asked := false
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

// hear wakes the jobs that other nodes name, and reports whether another node gave up a shard. It
// ends with ctx or with the connection.
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

// passOn tells the other nodes which jobs have work.
func (m *member) passOn(ctx context.Context) error {
	asked := m.node.jobs.takeAsked()
	if len(asked) == 0 {
		return nil
	}
	ctx, cancel := m.limit(ctx)
	defer cancel() // mutate: equivalent because it only frees a timer early
	return m.conn.Notify(ctx, channel, asked...)
}

// watch cuts running requests when the claims have expired, up to a tenth of a beat later. A timer
// would not do: its clock may stop while the machine sleeps.
func (n *Node) watch(ctx context.Context) {
	ticker := time.NewTicker(n.times().Beat / 10)
	defer ticker.Stop()
	for cut := true; ; { // nothing to cut before the first beat
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
