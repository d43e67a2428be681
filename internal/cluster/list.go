package cluster

import (
	"context"
	"time"

	"claviger/internal/release"
	"claviger/internal/sqldb"
)

// Return is how long after its last beat a silent node is expected to return.
const Return = time.Minute

// Member is a node for people.
type Member struct {
	ID        string
	Host      string
	Version   string // "": from before 1.0.0
	StartedAt time.Time
	BeatAt    time.Time
	Shards    int
	Leaving   bool
	Silent    bool // others took over its work, or will
}

// List returns the running nodes, and those that fell silent in the last minute. On SQLite it is the
// process that holds the lock of the database, if any.
func List(ctx context.Context, db *sqldb.DB) ([]Member, error) {
	now, shared, err := db.Clock(ctx)
	if err != nil {
		return nil, err
	}
	if !shared {
		return listAlone(ctx, db)
	}
	return sqldb.All(ctx, db, scanMember,
		`SELECT n.node, n.host, n.version, n.started_at, n.beat_at, n.leaving, n.until < $1,
			(SELECT count(*) FROM shards AS s WHERE s.node = n.node)
		FROM nodes AS n WHERE n.until >= $1 OR n.beat_at > $2
		UNION ALL SELECT node, host, version, started_at, beat_at, FALSE, TRUE, 0
		FROM silent_nodes WHERE beat_at > $2 ORDER BY 4, 1`, now, now.Add(-Return))
}

func scanMember(r *sqldb.Row, m *Member) error {
	return r.Scan(&m.ID, &m.Host, &m.Version, &m.StartedAt, &m.BeatAt, &m.Leaving, &m.Silent, &m.Shards)
}

// listAlone returns the process that holds the lock. It does not beat: the lock shows that it runs.
func listAlone(ctx context.Context, db *sqldb.DB) ([]Member, error) {
	holder, err := db.Holder(ctx)
	if err != nil || holder == sqldb.Nobody {
		return nil, err
	}
	list, err := sqldb.All(ctx, db, scanMember,
		`SELECT node, host, version, started_at, beat_at, leaving, FALSE, 0 FROM nodes`)
	for i := range list {
		list[i].BeatAt = time.Now()
		list[i].Shards = Shards
	}
	return list, err
}

// Needing returns the nodes older than a version that may still work: those that beat in the last
// minute. On SQLite it is any other process that serves the database.
func Needing(ctx context.Context, db *sqldb.DB, version string) ([]Member, error) {
	holder, err := db.Holder(ctx)
	if err != nil || holder == sqldb.Ours {
		return nil, err
	}
	list, err := List(ctx, db)
	var older []Member
	for _, m := range list {
		if holder == sqldb.Others || release.Before(m.Version, version) {
			older = append(older, m)
		}
	}
	return older, err
}

// version returns the version of this node's program.
func (n *Node) version() string {
	if n.Version != "" {
		return n.Version
	}
	return release.Version
}

// register stores the only process of an SQLite database, in place of earlier ones.
func (n *Node) register(ctx context.Context) error {
	return n.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM nodes`)
		tx.Queue(`INSERT INTO nodes (node, sessions, until, leaving, host, version, started_at, beat_at)
			VALUES ('', '', 0, FALSE, $1, $2, $3, $3)`, n.Host, n.version(), begun)
		return nil
	})
}

// unregister deletes the row of register.
func (n *Node) unregister(ctx context.Context) error {
	return n.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM nodes`)
		return nil
	})
}
