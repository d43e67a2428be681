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
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/replay"
	"claviger/internal/simulator"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// The jobs that one node at a time runs. The first two are woken when there is
// something to do.
const (
	mailJob    = "mail"
	linksJob   = "links"
	replaysJob = "redeliveries"
	bulkJob    = "bulk acts"
	outagesJob = "outages"
	keysJob    = "keys"
	statsJob   = "statistics"
	pruningJob = "pruning"
	answersJob = "pruning of answers"
	paymentJob = "payments"
)

// runLog stores the runs of jobs. A node is called by the name of its machine.
func (a *App) runLog(db *sqldb.DB) *job.Log {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &job.Log{DB: db, Now: a.cfg.Now, Node: host, Log: a.log}
}

// job runs a job on one node at a time. wake, if it is not nil, makes it look for work.
func (a *App) job(name string, wake func(), run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) { a.node.Do(ctx, name, wake, run) }
}

// Housekeeping is the job that prunes expired rows. It does no harm when two nodes do it
// at once.
type Housekeeping struct {
	Prune map[string]func(context.Context) (int64, error) // by what is pruned
	Every time.Duration                                   // 0 is an hour
	Quiet bool                                            // what was pruned is not worth a line
	Log   *slog.Logger
	Ran   job.Ran // called after each run; nil: not called
}

// pruners remove what has expired: answers kept for an Idempotency-Key, the record
// of webhooks, mails, sessions, links and unconfirmed sign-ups, invitations, tokens,
// replaced keys, and the addresses of clients.
func (a *App) pruners() map[string]func(context.Context) (int64, error) {
	db := a.services.DB
	return map[string]func(context.Context) (int64, error){
		"stored outcomes":   a.services.Outcomes.Prune,
		"webhook responses": (&webhook.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
		"exports":           a.services.Exports.Prune,
		"bulk acts":         (&bulk.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
		"redeliveries":      (&replay.Pruner{DB: db, Now: a.cfg.Now, Keep: a.cfg.KeepResponses}).Prune,
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

// promptPruners remove what must not stay: answers with tokens in them.
func (a *App) promptPruners() map[string]func(context.Context) (int64, error) {
	return map[string]func(context.Context) (int64, error){"repeatable refreshes": a.services.OAuth.PruneAnswers}
}

// Run prunes at intervals until ctx ends. A failure is logged
// and the next one comes all the same.
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

// once prunes once and returns how many rows it pruned.
func (h *Housekeeping) once(ctx context.Context) (int64, error) {
	var sum int64
	var errs []error
	for what, prune := range h.Prune {
		n, err := prune(ctx)
		sum += n
		if err != nil {
			errs = append(errs, fmt.Errorf("prune %s: %w", what, err))
		}
	}
	return sum, errors.Join(errs...)
}

// eraseAddress removes what is stored under the email address of somebody who is erased.
func eraseAddress(ctx context.Context, tx *sqldb.Tx, by audit.Actor, was account.User, at time.Time) error {
	partner.EraseInvitations(tx, was.Email)
	return profile.EraseContacts(ctx, tx, by, was.Email, at)
}

// eraseAndTell is eraseAddress, and tells whoever deleted their own account.
func (r *Services) eraseAndTell(ctx context.Context, tx *sqldb.Tx, by audit.Actor, was account.User, at time.Time) error {
	if err := eraseAddress(ctx, tx, by, was, at); err != nil {
		return err
	}
	r.Accounts.TellDeleted(tx, by, was, at)
	return nil
}
