package app

import (
	"cmp"
	"context"

	"claviger/internal/plural"
	"claviger/internal/sqldb"
)

// checks lists the checks in their order. The modes of files come first, because opening the
// database fixes its mode.
func (e *examination) checks() []func(context.Context) {
	return []func(context.Context){
		e.files, e.given("db", "database", e.database), e.leftBehind,
		e.onDatabase("writing", e.writable), e.pooler, e.onDatabase("clock", e.clock),
		e.given("secret-key", "secret key", e.onDatabase("secret key", e.key)),
		e.onDatabase("refunded licenses", e.licenses), e.onDatabase("ledger", e.ledger),
		e.onDatabase("disk", e.space), e.onDatabase("backups", e.backups),
		e.given("smtp-url", "mail", e.mail),
		e.given("stripe-secret-key", "Stripe", e.stripe),
		e.ports, e.address, e.proxies,
		e.given("egress-proxy", "egress proxy", e.egress),
	}
}

// given returns a check that is skipped if this user cannot read its setting.
func (e *examination) given(setting, name string, check func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		path, withheld := e.cfg.Withheld[setting]
		if !withheld {
			check(ctx)
			return
		}
		if setting == "db" {
			e.why = "this user cannot read where the database is"
		}
		e.say(name, Skipped, "Run claviger doctor as root, with the same settings.",
			"systemd gives the service its %s from %s, which this user cannot read", setting, path)
	}
}

// onDatabase returns a check that is skipped without a database of the current schema.
func (e *examination) onDatabase(name string, check func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		if e.db == nil {
			e.skip(name)
			return
		}
		check(ctx)
	}
}

// skip reports a check that needs the database.
func (e *examination) skip(name string) {
	e.say(name, Skipped, "", "%s", cmp.Or(e.why, "there is no database to look at"))
}

// old reports that the schema is older than this program. The other checks read tables that may be
// missing.
func (e *examination) old(shown string, s sqldb.Schema) {
	e.why = "the database has an older schema; run claviger migrate, then claviger doctor again"
	last := s.Pending[len(s.Pending)-1]
	e.say("database", Warned, pendingAdvice(s),
		"%s is reachable, and its schema is older than this program: it lacks %s, up to %s",
		shown, plural.Of(int64(len(s.Pending)), "migration"), last)
}
