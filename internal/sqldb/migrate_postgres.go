package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// migrationLock is an arbitrary number that no other program is likely to lock.
const migrationLock = 0x636c6176 // "clav"

// Waits of migrations on PostgreSQL.
const (
	turnEvery = 100 * time.Millisecond // between looks whether another node still migrates
	// A change of a table waits for all transactions that use it, and everyone else waits behind it.
	// So it gives up soon, and others go first for a while.
	tableWait  = 500 * time.Millisecond
	tablePause = time.Second
)

// migrate applies the missing migrations on a connection of its own, under a lock that ends with the
// connection: nothing waits inside a transaction, which would hold up a concurrent build of an index.
func (p *postgres) migrate(ctx context.Context, all []migration) (names []string, err error) {
	own, err := p.reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.Close(context.WithoutCancel(ctx))) }()
	m := &pgMigration{conn: own.conn, postgres: p}
	release, err := m.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := m.conn.Exec(ctx, madeTable); err != nil {
		return nil, err
	}
	made, err := appliedNames(ctx, own)
	if err != nil {
		return nil, err
	}
	todo := missing(all, made)
	names = []string{}
	for len(todo) > 0 {
		n := 1
		for todo[0].kind == unmarked && n < len(todo) && todo[n].kind == unmarked {
			n++
		}
		if err := m.apply(ctx, todo[:n]); err != nil {
			return names, err
		}
		for _, done := range todo[:n] {
			names = append(names, done.name)
		}
		todo = todo[n:]
	}
	return names, nil
}

// pgMigration is a run of migrations.
type pgMigration struct {
	*postgres
	conn *pgx.Conn
}

// takeTurn waits until no other node migrates. It asks again and again, because a session that waits
// for the lock would hold up the concurrent build of an index.
func (p *pgMigration) takeTurn(ctx context.Context) (release func(), err error) {
	holder := p.conn
	ask := `SELECT pg_try_advisory_lock($1)`
	release = func() {}
	if p.pooled && !p.direct {
		// The session of the lock is ours only during a transaction. An idle one without a snapshot holds
		// up no build of an index.
		own, err := p.reserve(ctx)
		if err != nil {
			return nil, err
		}
		holder = own.conn
		release = func() { closeNow(ctx, holder) }
		ask = `SELECT pg_try_advisory_xact_lock($1)`
		for _, sql := range []string{"begin", "SET LOCAL idle_in_transaction_session_timeout = 0"} {
			if _, err := holder.Exec(ctx, sql); err != nil {
				release()
				return nil, err
			}
		}
	}
	for {
		var ours bool
		// The simple protocol: the other one keeps the snapshot of the query until the next command.
		err := holder.QueryRow(ctx, ask, pgx.QueryExecModeSimpleProtocol, migrationLock).Scan(&ours)
		if err == nil && !ours {
			err = rest(ctx, turnEvery)
		}
		if err != nil {
			release()
			return nil, err
		}
		if ours {
			return release, nil
		}
	}
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// apply applies migrations of one transaction, or one that builds indexes concurrently.
func (p *pgMigration) apply(ctx context.Context, all []migration) error {
	if all[0].concurrent() {
		return p.build(ctx, all[0])
	}
	for told := false; ; told = true {
		err := pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error { return applyIn(ctx, tx, all) })
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "55P03" {
			return err
		}
		if !told {
			p.log.Warn("a table is in use by a long transaction; its migration is tried again until it works",
				"migration", all[0].name)
		}
		if err := rest(ctx, tablePause); err != nil {
			return err
		}
	}
}

func applyIn(ctx context.Context, tx pgx.Tx, all []migration) error {
	if all[0].kind != unmarked {
		limit := fmt.Sprintf(`SET LOCAL lock_timeout = %d`, tableWait.Milliseconds())
		if _, err := tx.Exec(ctx, limit); err != nil {
			return err
		}
	}
	for _, m := range all {
		if _, err := tx.Exec(ctx, m.text); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if _, err := tx.Exec(ctx, madeRow, m.name, time.Now().UnixNano()); err != nil {
			return err
		}
		if err := raiseOldest(ctx, tx, m); err != nil {
			return err
		}
	}
	return nil
}

func raiseOldest(ctx context.Context, tx pgx.Tx, m migration) error {
	if m.kind != contracting {
		return nil
	}
	var oldest string
	if err := tx.QueryRow(ctx, readOldest).Scan(&oldest); err != nil {
		return err
	}
	oldest, changes := m.raised(oldest)
	if !changes {
		return nil
	}
	_, err := tx.Exec(ctx, writeOldest, oldest)
	return err
}

// build builds indexes concurrently, which blocks no writes. A build that was killed leaves an
// invalid index, which is dropped first. A complete one may not be recorded yet, so it is left.
func (p *pgMigration) build(ctx context.Context, m migration) error {
	for _, sql := range m.statements() {
		name := indexName.FindStringSubmatch(sql)
		if name == nil {
			return fmt.Errorf("%s: %q builds no index concurrently", m.name, firstWords(sql))
		}
		if err := p.dropInvalid(ctx, name[1]); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if _, err := p.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	_, err := p.conn.Exec(ctx, madeRow, m.name, time.Now().UnixNano())
	return err
}

func (p *pgMigration) dropInvalid(ctx context.Context, index string) error {
	var invalid bool
	err := p.conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_index
		WHERE indexrelid = to_regclass($1) AND NOT indisvalid)`, index).Scan(&invalid)
	if err != nil || !invalid {
		return err
	}
	p.log.Warn("the build of an index did not end; it is built again", "index", index)
	_, err = p.conn.Exec(ctx, "DROP INDEX CONCURRENTLY "+pgx.Identifier{index}.Sanitize())
	return err
}
