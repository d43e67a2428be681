package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/job"
	"claviger/internal/sqldb"
)

// ErrNeeded means that a running node needs the form that a contracting migration deletes.
var ErrNeeded = errors.New("running nodes need the old form of the schema")

// contractEvery is the interval of the job that runs contracting migrations.
const contractEvery = time.Minute

// contractor is the job that runs contracting migrations of the previous release as soon as no node
// needs the old form.
type contractor struct {
	db     *sqldb.DB
	log    *slog.Logger
	ran    job.Ran
	waited string // the last logged reason
}

// Run tries at intervals until ctx ends.
func (c *contractor) Run(ctx context.Context) {
	ticker := time.NewTicker(contractEvery)
	defer ticker.Stop()
	for {
		began := time.Now()
		err := c.once(ctx)
		c.ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil {
			c.log.Error("a contracting migration failed; it is tried again in a minute", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once runs the contracting migrations that are due. If nodes need the old form, it logs which ones,
// once.
func (c *contractor) once(ctx context.Context) error {
	schema, err := c.db.Schema(ctx)
	if err != nil {
		return err
	}
	due := slices.DeleteFunc(schema.Contractions, func(m sqldb.Contraction) bool { return !m.Due })
	if len(due) == 0 {
		return nil
	}
	applied, err := contract(ctx, c.db, due)
	if errors.Is(err, ErrNeeded) {
		if c.waited != err.Error() {
			c.waited = err.Error()
			c.log.Info("contracting migrations wait; they are tried again every minute", "reason", err)
		}
		return nil
	}
	if len(applied) > 0 {
		c.log.Info("deleted old forms of the schema", "applied", strings.Join(applied, " "))
	}
	return err
}

// contract runs contracting migrations unless a node needs the old form of one.
func contract(ctx context.Context, db *sqldb.DB, list []sqldb.Contraction) ([]string, error) {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
		nodes, err := cluster.Needing(ctx, db, m.Since)
		if err != nil {
			return nil, err
		}
		if len(nodes) > 0 {
			return nil, needed(m, nodes)
		}
	}
	return db.Contract(ctx, names)
}

// needed names the nodes that need an old form.
func needed(m sqldb.Contraction, nodes []cluster.Member) error {
	words := make([]string, len(nodes))
	for i, n := range nodes {
		version := n.Version
		if version == "" {
			version = "before 1.0.0"
		}
		words[i] = fmt.Sprintf("%s (version %s, last beat %s)", n.Host, version, n.BeatAt.Format(time.TimeOnly))
	}
	return fmt.Errorf("%w: %s needs version %s or newer, and these nodes beat in the last minute: %s; stop them first",
		ErrNeeded, m.Name, m.Since, strings.Join(words, ", "))
}

// FinishMigration runs all contracting migrations of this version, which nothing can undo. On SQLite the
// service must be stopped.
func FinishMigration(ctx context.Context, db *sqldb.DB) ([]string, error) {
	schema, err := db.Schema(ctx)
	if err == nil {
		err = schema.Current()
	}
	if err != nil || len(schema.Contractions) == 0 {
		return nil, err
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if _, err := db.AcquireExclusive(waiting, func() { stop(sqldb.ErrInUse) }); err != nil {
		return nil, stopFirst(err)
	}
	return contract(ctx, db, schema.Contractions)
}
