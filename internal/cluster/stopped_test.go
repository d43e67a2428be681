package cluster_test

import (
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestStoppedInsideTransaction: a node that stops in the middle of a COPY or a pipeline, with the
// rows of its shards locked, is still replaced.
func TestStoppedInsideTransaction(t *testing.T) {
	const lock = `SELECT shard FROM shards ORDER BY shard FOR SHARE`
	for name, stop := range map[string]func(t *testing.T, conn *pgconn.PgConn){
		"in a COPY": func(t *testing.T, conn *pgconn.PgConn) {
			t.Helper()
			for _, sql := range []string{`BEGIN`, lock} {
				if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
					t.Fatal(err)
				}
			}
			reader, writer := io.Pipe() // no data ever comes
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = conn.CopyFrom(context.WithoutCancel(t.Context()), reader, `COPY shards FROM STDIN`)
			}()
			t.Cleanup(func() { _ = writer.Close(); <-ended })
		},
		"in a pipeline": func(t *testing.T, conn *pgconn.PgConn) {
			t.Helper()
			p := conn.StartPipeline(context.WithoutCancel(t.Context()))
			p.SendQueryParams(lock, nil, nil, nil, nil)
			p.SendFlushRequest() // without a sync
			if err := p.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, err := p.GetResults(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			needsPostgres(t)
			t.Parallel()
			url := sqldbtest.URL(t)
			proxy := sqldbtest.NewProxy(t, url)
			a := start(t, proxy.URL, func(r *running) { r.Times = scaled(5) })
			await(t, "a owns all", func() bool { return a.owned() == cluster.Shards })
			b := start(t, url, func(r *running) { r.Times = scaled(5); r.Times.HandOver = patience })
			await(t, "b has joined", func() bool { return nodes(t, b.db) == 2 })
			conn := connect(t, url, a.db.SessionName())
			stop(t, conn)
			await(t, "the shards are locked", func() bool { return locked(t, b.db) })
			proxy.Freeze()
			await(t, "b owns all", func() bool { return b.owned() == cluster.Shards })
			if err := b.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// connect opens a connection under a node's session name.
func connect(t *testing.T, url, name string) *pgconn.PgConn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["application_name"] = name
	conn, err := pgconn.ConnectConfig(t.Context(), &cfg.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// locked reports whether no shard can be changed.
func locked(t *testing.T, db *sqldb.DB) bool {
	t.Helper()
	var free []int64
	err := db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
		free, err = sqldb.All(t.Context(), tx, sqldb.Value[int64], `SELECT shard FROM shards`+tx.SkipLocked)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(free) == 0
}
