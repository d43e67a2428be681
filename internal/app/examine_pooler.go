package app

import "context"

// pooler says what works by a pooler, and what needs a way past it.
func (e *examination) pooler(ctx context.Context) {
	const name = "pooler"
	const past = "Set db-direct-url to the address of the PostgreSQL server itself."
	if e.db == nil || !e.cfg.Postgres() {
		return
	}
	switch pooled, direct, err := e.db.Pooled(ctx); {
	case err != nil:
		e.say(name, Failed, past, "db-direct-url cannot be used: %v", err)
	case !pooled:
		e.say(name, Passed, "", "no pooler is between this program and the database")
	case direct:
		e.say(name, Passed, "", "a pooler is before the database; messages between nodes, locks, migrations and "+
			"copies go past it")
	default:
		lead := "a pooler is before the database"
		if e.cfg.DirectURL != "" {
			lead = "db-direct-url leads to a pooler, too"
		}
		e.say(name, Warned, past, "%s: requests, deliveries, exports and migrations work, but messages between nodes "+
			"and locks of sessions do not pass it, so each node asks the database ten times a second, and "+
			"claviger migrate copy refuses", lead)
	}
}
