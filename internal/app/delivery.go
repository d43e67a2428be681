package app

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/bulk"
	"claviger/internal/dispatch"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/oauth"
	"claviger/internal/outage"
	"claviger/internal/payment"
	"claviger/internal/redelivery"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
	"claviger/internal/stats"
	"claviger/internal/webhook"
	"claviger/internal/webhook/queue"
)

// userAgent is the User-Agent of webhooks.
const userAgent = "Claviger-Webhooks/1"

// buildDispatcher creates the dispatcher of webhooks, from the services built so far.
func (a *App) buildDispatcher(r *Services) *dispatch.Dispatcher {
	a.server.Metrics.MustRegister(&queue.Figures{DB: r.DB, Now: a.cfg.Now})
	return (&dispatch.Dispatcher{
		Store: webhook.Store{
			DB: r.DB, Now: a.cfg.Now, Node: a.node, Partners: r.Partners, Profiles: r.Profiles, Policy: a.policy(),
		},
		Log: a.log, Client: a.caller, UserAgent: userAgent, Metrics: dispatch.NewMetrics(a.server.Metrics),
		SignNow: a.cfg.SignNow, Tracer: a.tracer(),
	}).Prepare()
}

// policy returns the settings for failed deliveries.
func (a *App) policy() webhook.Policy {
	return webhook.Policy{
		Schedule: a.cfg.Retry, ParkAfter: a.cfg.ParkAfter, ProbeEvery: a.cfg.ProbeEvery,
		Supersede: webhook.Supersede{After: a.cfg.SupersedeAfter, Attempts: a.cfg.SupersedeAttempts},
		InFlight:  a.cfg.WebhookConcurrency,
	}
}

// sendsMail reports whether emails reach people.
func (a *App) sendsMail() bool { return a.cfg.Mail.Configured() || a.cfg.Catcher != nil }

// notices returns a function that emails buyers about their purchases. It is nil if notices are off
// or no email can be sent: each email would fail and appear among the failed ones.
func (a *App) notices(box *mail.Outbox) func(context.Context, *sqldb.Tx, []license.News) error {
	if !a.tellsBuyers() {
		return nil
	}
	mailer := &notice.Mailer{
		Mail:        box,
		Audience:    a.cfg.MailBuyers,
		PublicURL:   a.url,
		Marketplace: cmp.Or(a.cfg.Name, "Claviger"),
		LegalName:   a.cfg.LegalName,
	}
	return mailer.Tell
}

// tellsBuyers reports whether buyers are emailed about their purchases.
func (a *App) tellsBuyers() bool {
	return a.sendsMail() && cmp.Or(a.cfg.MailBuyers, notice.Nobody) != notice.Nobody
}

// send joins the cluster and sends webhooks until ctx ends.
func (a *App) send(ctx context.Context) {
	if err := a.dispatcher.Run(ctx); err != nil {
		a.log.Warn("this node could not leave the cluster; the others wait until its time has run out", "err", err)
	}
}

// work returns the background jobs, which run until their context ends: sending and redelivering
// webhooks, reporting outages, sending email, and pruning.
func (a *App) work() []func(context.Context) {
	figures := &queue.Figures{DB: a.services.DB, Now: a.cfg.Now}
	count := &queue.Counter{Figures: figures, Ran: a.runs.Of(countJob, queue.CountEvery), Log: a.log}
	watch := &outage.Watch{
		DB: a.services.DB, Now: a.cfg.Now, Partners: a.services.Partners, Profiles: a.services.Profiles,
		Service: a.service(),
		Count:   figures.Waiting, Links: a.links(), Lasts: a.lasts(), Mail: a.services.Mail, Log: a.log,
		Ran: a.runs.Of(outagesJob, outage.WatchEvery),
	}
	a.sender.Ran, a.linkMailer.Ran = a.runs.Of(mailJob, mail.Every), a.runs.Of(linksJob, account.LinksEvery)
	a.paymentJob.Ran = a.runs.Of(paymentJob, payment.Every)
	answers := a.pruning(answersJob, time.Minute, oauth.ExpiringAnswers())
	answers.Quiet = true
	return []func(context.Context){
		a.send,
		a.services.Simulator.Run, // on every node: a run continues on the node that started it
		a.services.Checks.Run,
		a.services.Partners.Uses.Run,
		a.services.Accounts.TokenUses.Run,
		a.services.Requests.Run,
		a.certificate.Run,
		a.job(bulkJob, nil, (&bulk.Worker{
			Store: a.services.Bulk, Log: a.log, Ran: a.runs.Of(bulkJob, time.Second),
		}).Run),
		a.job(redeliveriesJob, nil, (&redelivery.Worker{
			Store: a.services.Redeliveries, Log: a.log, Ran: a.runs.Of(redeliveriesJob, time.Second),
		}).Run),
		a.job(outagesJob, nil, watch.Run),
		a.job(countJob, nil, count.Run),
		a.job(mailJob, a.sender.Wake, a.sender.Run),
		a.job(linksJob, a.linkMailer.Wake, a.linkMailer.Run),
		a.job(keysJob, nil, a.firstKeys),
		a.job(paymentJob, a.paymentJob.Wake, a.paymentJob.Run),
		a.job(ledgerJob, nil, (&accounting.Job{
			Store: a.services.Accounting, Ran: a.runs.Of(ledgerJob, accounting.Every),
		}).Run),
		a.job(ledgerCheckJob, nil, a.ledgerCheck().Run),
		a.job(statementsJob, nil, (&statement.Job{
			Store: a.services.Statements, Ran: a.runs.Of(statementsJob, statement.Every),
		}).Run),
		a.job(statsJob, nil, (&stats.Counter{
			Store: a.services.Stats, Log: a.log, Ran: a.runs.Of(statsJob, 2*time.Second),
		}).Run),
		a.job(revenueJob, nil, (&revenue.Counter{
			Store: a.services.Revenue, Log: a.log, Ran: a.runs.Of(revenueJob, 2*time.Second),
		}).Run),
		a.contracting, // on every node: one of the previous release has nothing to do
		a.job(backupJob, nil, a.backups),
		a.job(pruningJob, nil, a.pruning(pruningJob, time.Hour, a.expiring()).Run),
		a.job(answersJob, nil, answers.Run),
	}
}

// firstKeys makes the first signing keys, once.
func (a *App) firstKeys(ctx context.Context) {
	began := time.Now()
	a.runs.Of(keysJob, 0).Run(ctx, began, a.prepareKeys(ctx))
	<-ctx.Done()
}

// contracting runs contracting migrations, if this node may migrate.
func (a *App) contracting(ctx context.Context) {
	if !a.cfg.Migrate {
		a.without(ctx, schemaJob)
		return
	}
	(&contractor{db: a.services.DB, log: a.log, ran: a.runs.Of(schemaJob, contractEvery)}).Run(ctx)
}

// service returns our name in emails.
func (a *App) service() string {
	if u, err := url.Parse(a.url); err == nil && u.Host != "" {
		return u.Host
	}
	return a.url
}

// links returns the links of emails to the contacts of partners.
func (a *App) links() outage.Links {
	return outage.Links{Records: a.url + "/v2/licenses/events", Profile: a.url + "/v2/profile"}
}

// lasts returns the time from the first to the last attempt of an event.
func (a *App) lasts() time.Duration {
	var sum time.Duration
	for _, wait := range a.cfg.Retry {
		sum += wait
	}
	return sum
}
