package app

import (
	"context"
	"os"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/export"
	"claviger/internal/idempotency"
	"claviger/internal/invitation"
	"claviger/internal/job"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/prune"
	"claviger/internal/redelivery"
	"claviger/internal/requestlog"
	"claviger/internal/simulator"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
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
	revenueJob      = "revenue"
	countJob        = "count of deliveries"
	pruningJob      = "pruning"
	answersJob      = "pruning of answers"
	paymentJob      = "payments"
	ledgerJob       = "ledger"
	ledgerCheckJob  = "check of the ledger"
	statementsJob   = "statements"
	schemaJob       = "schema"
	backupJob       = "backups"
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

// without replaces a job that is switched off: its last run on record would soon look late.
func (a *App) without(ctx context.Context, name string) {
	if err := a.runs.Forget(ctx, name); err != nil && ctx.Err() == nil {
		a.log.Warn("the last run of a job that is switched off could not be deleted", "job", name, "err", err)
	}
	<-ctx.Done()
}

// pruning returns a job that deletes expired rows.
func (a *App) pruning(name string, every time.Duration, rules []prune.Rule) *prune.Job {
	return &prune.Job{
		DB: a.services.DB, Now: a.cfg.Now, Rules: rules, Every: every,
		Node: a.node, Ran: a.runs.Of(name, every), Log: a.log,
	}
}

// expiring lists all rows that expire, except answers with tokens, which are pruned more often.
func (a *App) expiring() []prune.Rule {
	keep := a.cfg.KeepResponses
	return slices.Concat(
		idempotency.Expiring(),
		webhook.Expiring(keep),
		export.Expiring(),
		bulk.Expiring(keep),
		redelivery.Expiring(keep),
		simulator.Expiring(keep),
		mail.Expiring(),
		account.Expiring(),
		invitation.Expiring(),
		partner.Expiring(),
		oauth.Expiring(),
		a.services.OAuth.Keys.Expiring(),
		stats.Expiring(),
		requestlog.Expiring(),
		payment.Expiring(),
		audit.Expiring(),
	)
}
