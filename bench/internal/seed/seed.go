// Package seed fills a database for the benchmarks: one partner with a million licenses and five
// events of each. A few bulk statements write the same state as the service itself (dense ordinals,
// block counts, ledger, sequences), which is checked before anything is measured. The package names
// tables of every package, which only benchmarks and tests may.
//
// It leaves out rows that no list reads: purchases, deliveries, users.
package seed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Credentials of every seeded database. They are only for benchmarks.
const (
	SecretKey = "6265636861726c656e676520746865206c6f636b736d69746820746f6461790a"
	Token     = "op_benchmark"
)

// APIKey returns the API key of the n-th seeded partner, from 1.
func APIKey(n int) string { return fmt.Sprintf("lk_benchmark_%d", n) }

// EventsPerLicense is the number of events per seeded license.
const EventsPerLicense = 5

// Market describes a seeded database.
type Market struct {
	URL      string
	Partners []int64
	Licenses int64 // of the first partner
	Events   int64 // likewise
	Active   int64 // likewise: licenses whose status is active
}

// IsPostgres reports whether a database's address belongs to PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

var actor = audit.System("bench")

// Sealer returns the sealer of the servers on seeded databases.
func Sealer() (*secret.Sealer, error) {
	raw := make([]byte, secret.KeySize)
	if _, err := fmt.Sscanf(SecretKey, "%x", &raw); err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	return secret.NewSealer(raw)
}

// Partners creates partners with a plan each, and the operator token, in a migrated database
// without them.
func Partners(ctx context.Context, db *sqldb.DB, n int) ([]int64, error) {
	box, err := Sealer()
	if err != nil {
		return nil, err
	}
	registry := &partner.Store{DB: db, Sealer: box, Now: app.Now}
	book := &profile.Store{DB: db, Partners: registry, Now: app.Now}
	var ids []int64
	for i := range n {
		p, _, _, err := book.Enrol(ctx, actor, partner.Draft{Name: fmt.Sprintf("Partner %d", i+1)}, profile.URLs{},
			false,
			partner.Credentials{APIKey: APIKey(i + 1)})
		if err != nil {
			return nil, err
		}
		if _, _, err := registry.PutPlan(ctx, actor, p.ID,
			partner.Plan{Tier: 1, Name: "Plan", PriceCents: 4900, Currency: "USD"}); err != nil {
			return nil, err
		}
		ids = append(ids, p.ID)
	}
	accounts := &account.Store{DB: db, Now: app.Now}
	_, _, err = accounts.AddToken(ctx, actor, "bench", []account.Scope{account.Admin}, time.Time{}, Token)
	return ids, err
}

// Fill adds one partner with this many licenses and their events to an empty, migrated database.
func Fill(ctx context.Context, url string, licenses int64) error {
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	partners, err := Partners(ctx, db, 1)
	if err == nil {
		err = fill(ctx, db, IsPostgres(url), partners[0], licenses)
	}
	if err == nil {
		err = Vacuum(ctx, db, url)
	}
	return errors.Join(err, db.Close())
}

// Vacuum does the work of autovacuum for so many rows; SQLite needs none.
func Vacuum(ctx context.Context, db *sqldb.DB, url string) error {
	if !IsPostgres(url) {
		return nil
	}
	return outside(ctx, db, `VACUUM ANALYZE`)
}

// outside runs a PostgreSQL statement that is not allowed in a transaction.
func outside(ctx context.Context, db *sqldb.DB, sql string) error {
	_, err := sqldb.All(ctx, db, sqldb.Value[string], sql)
	return err
}

// fill writes the rows in a few transactions and the ledger in the last, so that an incomplete
// database is recognizable.
func fill(ctx context.Context, db *sqldb.DB, postgres bool, partnerID, licenses int64) error {
	var indexes []index
	steps := []func(*sqldb.Tx) error{func(tx *sqldb.Tx) (err error) {
		if postgres { // rebuilding indexes is faster than updating them
			indexes, err = dropIndexes(ctx, tx, "licenses", "events")
		}
		return err
	}}
	s := series{partnerID: partnerID, licenses: licenses, begun: begun(licenses)}
	for r := range ranges(licenses, postgres) {
		steps = append(steps, func(tx *sqldb.Tx) error {
			return errors.Join(eachStatement(r, postgres, func(p span) error {
				return s.addLicenses(ctx, tx, p.from, p.to)
			}),
				s.addBlocks(ctx, tx, "license", r.from, r.to))
		})
	}
	for r := range ranges(licenses*EventsPerLicense, postgres) {
		steps = append(steps, func(tx *sqldb.Tx) error {
			return errors.Join(eachStatement(r, postgres, func(p span) error {
				return s.addEvents(ctx, tx, p.from, p.to)
			}),
				s.addBlocks(ctx, tx, "event", r.from, r.to))
		})
	}
	steps = append(steps, func(tx *sqldb.Tx) error { return makeIndexes(ctx, tx, indexes) },
		func(tx *sqldb.Tx) error { return s.count(ctx, tx, postgres) })
	for _, step := range steps {
		err := db.Write(ctx, func(tx *sqldb.Tx) error { return errors.Join(prepare(ctx, tx, postgres), step(tx)) })
		if err != nil {
			return fmt.Errorf("seed %d licenses: %w", licenses, err)
		}
	}
	return nil
}

// partRows is the number of rows written by a transaction or checked together: SQLite sorts in
// memory. It is a multiple of a block.
const partRows = 32 * 4096

// statementRows is the number of rows that SQLite writes with one statement: it stores the old
// content of all changed pages in memory. Keys are scattered, so each row of a large table changes
// its own pages.
const statementRows = 4096

// eachStatement calls write for each part of a range that one statement writes; on PostgreSQL for
// the whole range.
func eachStatement(r span, postgres bool, write func(span) error) error {
	if postgres {
		return write(r)
	}
	for from := r.from; from <= r.to; from += statementRows {
		if err := write(span{from, min(from+statementRows-1, r.to)}); err != nil {
			return err
		}
	}
	return nil
}

// span is a range of numbers, both ends included.
type span struct{ from, to int64 }

// ranges returns the numbers from 1 to n in parts of partRows; on PostgreSQL in one part.
func ranges(n int64, postgres bool) iter.Seq[span] {
	part := int64(partRows)
	if postgres {
		part = n
	}
	return func(yield func(span) bool) {
		for from := int64(1); from <= n; from += part {
			if !yield(span{from, min(from+part-1, n)}) {
				return
			}
		}
	}
}

// prepare makes bulk writing cheap for this transaction or connection.
func prepare(ctx context.Context, tx *sqldb.Tx, postgres bool) error {
	texts := []string{`PRAGMA cache_size = -50000`}
	if postgres {
		texts = []string{
			`SET LOCAL session_replication_role = replica`, // skips foreign key checks
			`SET LOCAL maintenance_work_mem = '512MB'`,
		}
	}
	for _, text := range texts {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// index is an index that is dropped before the rows are written and recreated after.
type index struct{ name, text string }

func dropIndexes(ctx context.Context, tx *sqldb.Tx, tables ...string) ([]index, error) {
	list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, i *index) error { return r.Scan(&i.name, &i.text) },
		`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY($1)
			AND indexname NOT IN (SELECT conname FROM pg_constraint)`, tables)
	for _, i := range list {
		if err == nil {
			_, err = tx.Exec(ctx, `DROP INDEX `+i.name)
		}
	}
	return list, err
}

func makeIndexes(ctx context.Context, tx *sqldb.Tx, list []index) error {
	for _, i := range list {
		if _, err := tx.Exec(ctx, i.text); err != nil {
			return err
		}
	}
	return nil
}
