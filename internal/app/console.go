package app

import (
	"claviger/internal/answers"
	"claviger/internal/console"
	"claviger/internal/operator"
	"claviger/internal/support"
	"claviger/internal/today"
	"claviger/internal/visitor"
)

// console creates the operators' pages: one line per section, with its dependencies.
func (a *App) console(site *visitor.Site) *console.Handler {
	r := a.services
	return &console.Handler{
		Shell: console.Shell{
			Site: site, Streams: &a.streams, Rights: console.RightsLive(r.Accounts, a.log), Now: a.cfg.Now,
			Live: console.NewLive(r.History, r.Redeliveries, r.Profiles, r.Partners, r.Webhooks, a.log),
		},
		Partners: console.Partners{
			Partners: r.Partners,
			Profiles: r.Profiles,
			Webhooks: r.Webhooks,
			Support:  a.support(),
			Checks:   r.Checks,
			TestMail: r.TestMail,
			Payments: r.Payments,

			Statements: r.Statements,
			Exports:    r.Exports,
		},
		Team:  console.Team{Accounts: r.Accounts},
		Today: console.Today{Store: r.Today, Revenue: r.Revenue, Live: console.TodayLive(r.Today, a.log)},
		Delivery: console.Delivery{
			DB: r.DB, Partners: r.Partners, Webhooks: r.Webhooks, History: r.History, Licenses: r.Licenses,
			Redeliveries: r.Redeliveries, Mail: r.Mail,
		},
		System: console.System{
			DB:       r.DB,
			Accounts: r.Accounts,
			Keys:     r.OAuth.Keys,
			Audit:    r.Audit,
			Jobs:     jobsOf(),
			Settings: a.shownSettings(),
			Version:  ThisBuild().String(),
		},
		Payouts: console.Payouts{Store: r.Payouts, Exports: r.Exports, OneProof: a.cfg.TestMoney},
		Ledger:  console.Ledger{Books: r.Accounting, Partners: r.Partners},
		Reports: console.Reports{
			Stats:    r.Stats,
			Revenue:  r.Revenue,
			Partners: r.Partners,
			Exports:  r.Exports,
			Live:     console.ExportsLive(r.Exports, a.log),
		},
		Search: console.Search{Support: r.Support, Accounts: r.Accounts, Payments: r.Payments},
		Bulk:   console.Bulk{Jobs: r.Bulk, Live: console.BulkLive(r.Bulk, a.log)},
		People: console.People{
			Accounts: r.Accounts, Merges: r.Merges, Partners: r.Partners, Licenses: r.Licenses, Support: r.Support,
			Payments: r.Payments, Data: a.personData(),
		},
		Licenses: console.Licenses{
			Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, Webhooks: r.Webhooks, Support: r.Support,
			Payments: r.Payments,
		},
	}
}

// personData returns the collector of all data about a person.
func (a *App) personData() *answers.Person {
	r := a.services
	return &answers.Person{
		Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, OAuth: r.OAuth, Payments: r.Payments,
		Now: a.cfg.Now,
	}
}

// today returns the collector of tasks for people.
func (a *App) today(r *Services) *today.Store {
	return &today.Store{DB: r.DB, Keys: r.OAuth.Keys, Now: a.cfg.Now, BackupEvery: a.cfg.backupEvery()}
}

// settings lists the current settings in printable form.
func (a *App) settings() []operator.Setting {
	list := make([]operator.Setting, len(a.cfg.Origins))
	for i, o := range a.cfg.Origins {
		list[i] = operator.Setting{Name: o.Name, Value: o.Shown, From: o.From}
	}
	return list
}

// shownSettings is settings for the page.
func (a *App) shownSettings() []console.Setting {
	list := make([]console.Setting, len(a.cfg.Origins))
	for i, o := range a.cfg.Origins {
		list[i] = console.Setting(o)
	}
	return list
}

// jobsOf describes the jobs for people.
func jobsOf() []console.Job {
	return []console.Job{
		{Name: mailJob, What: "Sends the mails that wait."},
		{Name: linksJob, What: "Mails the sign-in links that people asked for."},
		{Name: outagesJob, What: "Tells the contacts of partners that deliveries fail."},
		{Name: redeliveriesJob, What: "Sends many events again."},
		{Name: paymentJob, What: "Asks Stripe about everything a webhook may have missed."},
		{Name: ledgerJob, What: "Makes the shares of partners payable, and posts what earlier versions sold."},
		{Name: ledgerCheckJob, What: "Checks once a day that the balances agree with all postings and refunds."},
		{Name: statementsJob, What: "Writes the statements of partners when a month has ended."},
		{Name: countJob, What: "Counts the deliveries that wait."},
		{Name: bulkJob, What: "Does an act on many records, one by one."},
		{Name: statsJob, What: "Counts what the numbers show."},
		{Name: revenueJob, What: "Adds up revenue, refunds, fees and shares per day."},
		{Name: pruningJob, What: "Removes what has expired."},
		{Name: answersJob, What: "Removes answers with tokens in them."},
		{Name: backupJob, What: "Backs up an SQLite database, if backup-dir is set."},
		{Name: schemaJob, What: "Deletes what earlier versions needed in the database."},
		{Name: keysJob, What: "Makes the first signing keys, once."},
	}
}

// support creates the lookups for support.
func (r *Services) support() *support.Store {
	return &support.Store{
		DB: r.DB, Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, Events: r.Events,
		History: r.History, OAuth: r.OAuth, Audit: r.Audit, Payments: r.Payments,
	}
}
