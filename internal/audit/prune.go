package audit

import (
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// ClientKept is how long the address of a person's client is stored.
const ClientKept = 90 * 24 * time.Hour

// Expiring lists the data that expires: the addresses of clients. Their entries stay.
func Expiring() []prune.Rule {
	return []prune.Rule{{Table: "audit_entries", At: "at", Keep: ClientKept, If: `client <> ''`, Clear: "client"}}
}

// EraseUser blanks the addresses of a user's clients, in the caller's transaction.
func EraseUser(tx *sqldb.Tx, userID int64) {
	tx.Queue(
		`UPDATE audit_entries SET client = '' WHERE actor_kind = '`+ByUser+`' AND actor_id = $1 AND client <> ''`,
		userID,
	)
}
