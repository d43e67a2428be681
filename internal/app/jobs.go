package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/job"
	"claviger/internal/mail"
	"claviger/internal/redelivery"
	"claviger/internal/simulator"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Jobs that run on one node at a time. The first two are woken when there is work.
const (
	mailJob         = "mail"
	linksJob        = "links"
	redeliveriesJob = "redeliveries"
	bulkJob         = "bulk acts"
	outagesJob      = "outages"
	keysJob         = "keys"
	statsJob        = "statistics"
	countJob        = "count of deliveries"
	pruningJob      = "pruning"
	answersJob      = "pruning of answers"
	paymentJob      = "payments"
	schemaJob       = "schema"
)

// runLog stores the runs of jobs. A node has the name of its machine.
func (a *App) runLog(db *sqldb.DB) *job.Log {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &job.Log{DB: db, Now: a.cfg.Now, Node: host, Log: a.log}
}

// job runs a job on one node at a time. wake, if not nil, makes it look for work.
func (a *App) job(name string, wake func(), run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) { a.node.Do(ctx, name, wake, run) }
}

// Housekeeping is the job that prunes expired rows. Running on two nodes simultaneously is
// harmless.
type Housekeeping struct {
	Prune map[string]func(context.Context) (int64, error) // by kind of row
	Every time.Duration                                   // 0: an hour
	Quiet bool                                            // do not log results
	Log   *slog.Logger
	Ran   job.Ran      // called after each run; nil: not called
	Clock func() error // called before pruning: an error means that the clock is wrong; nil: no check
}

// housekeeping completes a pruning job.
func (a *App) housekeeping(h Housekeeping, name string) *Housekeeping {
	h.Log, h.Ran, h.Clock = a.log, a.runs.Of(name, h.Every), a.node.CheckClock
	return &h
}

// pruners delete expired rows: answers stored for an Idempotency-Key, records of webhooks, emails,
// sessions, links and unconfirmed sign-ups, invitations, tokens, replaced keys, and client
// addresses.
func (a *App) pruners() map[string]func(context.Context) (int64, error) {
	db := a.services.DB
	return map[string]func(context.Context) (int64, error){
		"stored outcomes":   a.services.Outcomes.Prune,
		"webhook responses": (&webhook.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
		"exports":           a.services.Exports.Prune,
		"bulk acts":         (&bulk.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
		"redeliveries":      (&redelivery.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
		"scenario runs":     (&simulator.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune, // and test licenses
		"mails":             (&mail.Pruner{DB: db, Now: a.cfg.Now}).Prune,
		"sessions":          (&account.Sessions{DB: db, Now: a.cfg.Now}).Prune,
		"signed sessions":   (&account.Sessions{DB: db, Now: a.cfg.Now}).PruneSigned,
		"challenges":        a.services.Accounts.PruneChallenges,
		"sign-in links":     a.services.Accounts.Prune, // and sign-ups
		"invitations":       a.services.Inviter.Prune,
		"support visits":    a.services.Partners.PruneVisits,
		"password tries":    a.services.Accounts.PruneTries,
		"tokens":            a.services.OAuth.Prune,
		"signing keys":      a.services.OAuth.Keys.Prune,
		"hourly numbers":    a.services.Stats.Prune,
		"refused requests":  a.services.Requests.Prune,
		"payment events":    a.services.Payments.Prune,
		"client addresses":  (&audit.Pruner{DB: db, Now: a.cfg.Now}).Prune,
	}
}

// promptPruners delete rows that must not stay long: answers with tokens.
func (a *App) promptPruners() map[string]func(context.Context) (int64, error) {
	return map[string]func(context.Context) (int64, error){"repeatable refreshes": a.services.OAuth.PruneAnswers}
}

// Run prunes at intervals until ctx ends. A failure is logged, and the next run happens as usual.
func (h *Housekeeping) Run(ctx context.Context) {
	every := h.Every
	if every == 0 {
		every = time.Hour
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		began := time.Now()
		n, err := h.once(ctx)
		h.Ran.Run(ctx, began, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.Log.Error("pruning failed; it is tried again later", "err", err)
		case n > 0 && !h.Quiet:
			h.Log.Info("pruned expired rows", "count", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once prunes once and returns the number of deleted rows.
func (h *Housekeeping) once(ctx context.Context) (int64, error) {
	var sum int64
	var errs []error
	for what, prune := range h.Prune {
		if h.Clock != nil {
			if err := h.Clock(); err != nil { // rows deleted too early are lost; too late is harmless
				return sum, errors.Join(append(errs, fmt.Errorf("nothing is pruned: %w", err))...)
			}
		}
		n, err := prune(ctx)
		sum += n
		if err != nil {
			errs = append(errs, fmt.Errorf("prune %s: %w", what, err))
		}
	}
	return sum, errors.Join(errs...)
}
