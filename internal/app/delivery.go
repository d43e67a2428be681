package app

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/batch"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/replay"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
	"claviger/internal/webhook"
)

// userAgent is who calls partners.
const userAgent = "Claviger-Webhooks/1"

// buildDispatcher makes what sends webhooks, from the services that are built so far.
func (a *App) buildDispatcher(r *Services) *dispatch.Dispatcher {
	a.server.Metrics.MustRegister(&webhook.Queue{DB: r.DB, Now: a.cfg.Now})
	return (&dispatch.Dispatcher{
		Store: webhook.Store{DB: r.DB, Now: a.cfg.Now, Node: a.node, Endpoint: r.Endpoint, Policy: a.policy()},
		Log:   a.log, Client: a.caller, UserAgent: userAgent, Metrics: dispatch.NewMetrics(a.server.Metrics), SignNow: a.cfg.SignNow, Tracer: a.tracer(),
	}).Prepare()
}

// policy is what the settings say about deliveries that fail.
func (a *App) policy() webhook.Policy {
	return webhook.Policy{
		Schedule: a.cfg.Retry, ParkAfter: a.cfg.ParkAfter, ProbeEvery: a.cfg.ProbeEvery,
		Supersede: webhook.Supersede{After: a.cfg.SupersedeAfter, Attempts: a.cfg.SupersedeAttempts},
		InFlight:  a.cfg.WebhookConcurrency,
	}
}

// Endpoint is where a partner's webhooks go and what signs them.
func (r *Services) Endpoint(ctx context.Context, partnerID int64) (webhook.Endpoint, error) {
	p, err := r.Partners.Get(ctx, partnerID)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return webhook.Endpoint{}, nil // it was deleted: there is nothing to send, and no trouble
	}
	if err != nil || p.Paused() {
		return webhook.Endpoint{}, err // what is to be sent to a paused partner waits
	}
	profile, _, err := r.Profiles.Get(ctx, partnerID)
	if err != nil || profile.WebhookURL == "" {
		return webhook.Endpoint{}, err
	}
	secrets, err := r.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	until, err := r.Partners.SigningUntil(ctx, partnerID)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	return webhook.Endpoint{
		URL: profile.WebhookURL, Brand: p.Brand, Strict: p.Strict, Secrets: courier.NewSecrets(secrets...),
		Proven: !profile.WebhookValidAt.IsZero(), Until: until, InFlight: p.Webhooks,
	}, nil
}

// notices tells buyers by mail what became of what they bought. It is nil where nobody is to
// be told, or no mail is sent: each would be given up, and stand among what failed.
func (a *App) notices(box *mail.Outbox) func(context.Context, *sqldb.Tx, []license.News) error {
	sent := a.cfg.Mail.Configured() || a.cfg.Catcher != nil
	if !sent || cmp.Or(a.cfg.MailBuyers, notice.Nobody) == notice.Nobody {
		return nil
	}
	desk := &notice.Desk{Mail: box, Audience: a.cfg.MailBuyers, PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"), LegalName: a.cfg.LegalName}
	return desk.Tell
}

// send takes part in the cluster and sends webhooks until ctx ends.
func (a *App) send(ctx context.Context) {
	if err := a.dispatcher.Run(ctx); err != nil {
		a.log.Warn("this node could not leave the cluster; the others wait until its time has run out", "err", err)
	}
}

// work is the background jobs of the service, each until its context ends: sending
// webhooks and redelivering them, telling of outages, sending mail, and pruning.
func (a *App) work() []func(context.Context) {
	watch := &outage.Watch{
		DB: a.services.DB, Now: a.cfg.Now, Partners: a.services.Partners, Profiles: a.services.Profiles, Service: a.service(),
		Count: a.services.Webhooks.Waiting, Links: a.links, Lasts: a.lasts(), Mail: a.services.Mail, Log: a.log,
		Ran: a.runs.Of(outagesJob, outage.WatchEvery),
	}
	a.sender.Ran, a.linkMailer.Ran = a.runs.Of(mailJob, mail.Every), a.runs.Of(linksJob, account.LinksEvery)
	a.paymentJob.Ran = a.runs.Of(paymentJob, payment.Every)
	keysRan := a.runs.Of(keysJob, 0)
	keys := func(ctx context.Context) {
		began := time.Now()
		keysRan.Run(ctx, began, a.prepareKeys(ctx))
		<-ctx.Done() // once is enough
	}
	return []func(context.Context){
		a.send,
		a.services.Simulator.Run, // on every node: a run goes on where it began
		a.services.Checks.Run,
		a.services.Partners.Uses.Run,
		a.services.Accounts.TokenUses.Run,
		a.services.Requests.Run,
		a.job(bulkJob, nil, (&batch.Worker{Once: a.services.Bulk.Once, What: "a bulk act", Log: a.log, Ran: a.runs.Of(bulkJob, time.Second)}).Run),
		a.job(replaysJob, nil, (&replay.Replayer{Jobs: a.services.Replays, Log: a.log, Ran: a.runs.Of(replaysJob, time.Second)}).Run),
		a.job(outagesJob, nil, watch.Run),
		a.job(mailJob, a.sender.Wake, a.sender.Run),
		a.job(linksJob, a.linkMailer.Wake, a.linkMailer.Run),
		a.job(keysJob, nil, keys),
		a.job(paymentJob, a.paymentJob.Wake, a.paymentJob.Run),
		a.job(statsJob, nil, (&stats.Counter{Book: a.services.Stats, Log: a.log, Ran: a.runs.Of(statsJob, 2*time.Second)}).Run),
		a.job(pruningJob, nil, (&Housekeeping{Prune: a.pruners(), Log: a.log, Ran: a.runs.Of(pruningJob, time.Hour)}).Run),
		a.job(answersJob, nil, (&Housekeeping{Prune: a.promptPruners(), Every: time.Minute, Quiet: true, Log: a.log, Ran: a.runs.Of(answersJob, time.Minute)}).Run),
	}
}

// service is what mails call us.
func (a *App) service() string {
	if u, err := url.Parse(a.url); err == nil && u.Host != "" {
		return u.Host
	}
	return a.url
}

// links are what a mail to a partner's contacts leads to.
func (a *App) links(int64) outage.Links {
	return outage.Links{Records: a.url + "/v2/licenses/events", Profile: a.url + "/v2/profile"}
}

// lasts is how long an event is tried before it is given up.
func (a *App) lasts() time.Duration {
	var sum time.Duration
	for _, wait := range a.cfg.Retry {
		sum += wait
	}
	return sum
}
