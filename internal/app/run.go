package app

import (
	"context"
	"fmt"
)

// Run serves until ctx ends or a listener fails. Then it stops in order: no new requests, finish
// running ones, end the jobs, close the database. It is called once.
func (a *App) Run(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	a.stopJobs = stop
	for _, job := range a.work() {
		a.jobs.Go(func() { job(working) })
	}
	return a.Serve(ctx)
}

// Serve is Run without jobs: it leaves deliveries and other background work to other nodes.
func (a *App) Serve(ctx context.Context) error {
	a.log.Info("serving", "addr", a.Addr(), "url", a.url, "admin", a.AdminAddr(), "pprof", a.PprofAddr())
	a.greet(ctx)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go a.guard.watch(watching, a.retire)
	if err := a.server.Run(ctx); err != nil {
		return err
	}
	a.log.Info("stopped")
	return nil
}

// retire ends streams and jobs, and with them this node's part in the cluster, because the schema is
// too new or the database file was moved. Requests under way end as usual.
func (a *App) retire() {
	a.streams.Close()
	if a.stopJobs != nil {
		a.stopJobs()
	}
}

// endJobs stops the background jobs and waits for their end, limited by ctx.
func (a *App) endJobs(ctx context.Context) error {
	if a.stopJobs == nil {
		return nil
	}
	a.stopJobs()
	ended := make(chan struct{})
	go func() {
		a.jobs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the jobs to end: %w", context.Cause(ctx))
	}
}

// greet logs the remaining steps of a new install. If they cannot be read, the service still runs.
func (a *App) greet(ctx context.Context) {
	tokens, err := a.services.Accounts.Tokens(ctx)
	if err == nil && len(tokens) == 0 {
		a.log.Warn("there is no operator token yet; make one with: claviger token add --name admin --scopes admin")
	}
}

// Close releases the resources of New, for an App that is not run. After Run it does nothing.
func (a *App) Close() error { return a.server.Stop(context.Background()) }
