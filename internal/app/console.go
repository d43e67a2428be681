package app

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/console"
	"claviger/internal/live"
	"claviger/internal/operator"
	"claviger/internal/sqldb"
	"claviger/internal/support"
	"claviger/internal/today"
	"claviger/internal/visitor"
)

// console makes the operators' pages: a line for each section, with what it needs.
func (a *App) console(site *visitor.Site) *console.Handler {
	r := a.services
	return &console.Handler{
		Shell: console.Shell{
			Site: site, Streams: &a.streams, Rights: &live.Versions{Read: r.Accounts.AccessVersions, Log: a.log}, Now: a.cfg.Now,
			Live: console.NewLive(r.History, r.Replays, r.Profiles, r.Partners, r.Webhooks, a.log),
		},
		Partners: console.Partners{Partners: r.Partners, Profiles: r.Profiles, Webhooks: r.Webhooks, Support: a.support(), Checks: r.Checks, TestMail: r.TestMail, Payments: r.Payments},
		Team:     console.Team{Accounts: r.Accounts},
		Today:    console.Today{Book: r.Today, Live: console.TodayLive(r.Today, a.log)},
		Delivery: console.Delivery{
			DB: r.DB, Partners: r.Partners, Webhooks: r.Webhooks, History: r.History, Licenses: r.Licenses, Replays: r.Replays, Mail: r.Mail,
		},
		System:  console.System{DB: r.DB, Accounts: r.Accounts, Keys: r.OAuth.Keys, Audit: r.Audit, Jobs: jobsOf(), Settings: a.shownSettings()},
		Reports: console.Reports{Stats: r.Stats, Partners: r.Partners, Exports: r.Exports, Live: &live.Versions{Read: r.Exports.Versions, Log: a.log}},
		Search:  console.Search{Support: r.Support},
		Bulk:    console.Bulk{Jobs: r.Bulk, Live: &live.Versions{Read: r.Bulk.Versions, Log: a.log}},
		People:  console.People{Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, Support: r.Support},
		Licenses: console.Licenses{
			Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, Webhooks: r.Webhooks, Support: r.Support, Payments: r.Payments,
		},
	}
}

// today makes what collects what needs a person.
func (a *App) today(r *Services) *today.Book {
	return &today.Book{DB: r.DB, Keys: r.OAuth.Keys, Now: a.cfg.Now}
}

// settings are the settings in force, as they may be shown.
func (a *App) settings() []operator.Setting {
	list := make([]operator.Setting, len(a.cfg.Origins))
	for i, o := range a.cfg.Origins {
		list[i] = operator.Setting{Name: o.Name, Value: o.Shown, From: o.From}
	}
	return list
}

// shownSettings are the same, for the page.
func (a *App) shownSettings() []console.Setting {
	list := make([]console.Setting, len(a.cfg.Origins))
	for i, o := range a.cfg.Origins {
		list[i] = console.Setting(o)
	}
	return list
}

// jobsOf says what the jobs do, for people.
func jobsOf() []console.Job {
	return []console.Job{
		{Name: mailJob, What: "Sends the mails that wait."},
		{Name: linksJob, What: "Mails the sign-in links that people asked for."},
		{Name: outagesJob, What: "Tells the contacts of partners that deliveries fail."},
		{Name: replaysJob, What: "Sends many events again."},
		{Name: bulkJob, What: "Does an act on many records, one by one."},
		{Name: statsJob, What: "Counts what the numbers show."},
		{Name: pruningJob, What: "Removes what has expired."},
		{Name: answersJob, What: "Removes answers with tokens in them."},
		{Name: keysJob, What: "Makes the first signing keys, once."},
	}
}

// mayRedeliver reports whether a person of the marketplace may send events of every
// partner again.
func mayRedeliver(ctx context.Context, r sqldb.Reader, userID int64) (bool, error) {
	role, err := account.RoleOf(ctx, r, userID)
	return role.May(account.Support), err
}

// desk makes what the marketplace's people look things up with.
func (r *Services) desk() *support.Desk {
	return &support.Desk{
		DB: r.DB, Accounts: r.Accounts, Partners: r.Partners, Licenses: r.Licenses, Events: r.Events, History: r.History, OAuth: r.OAuth, Audit: r.Audit, Payments: r.Payments,
	}
}
