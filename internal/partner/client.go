package partner

import (
	"context"
	"strings"
	"unicode/utf8"

	"claviger/internal/sqldb"
)

// ByClientID returns the partner with the client id. It authenticates no one: the client id is in
// every authorization request.
func (r *Store) ByClientID(ctx context.Context, clientID string) (Partner, error) {
	if !utf8.ValidString(clientID) || strings.Contains(clientID, "\x00") {
		return Partner{}, Unknown() // PostgreSQL refuses such a text in a query
	}
	p, err := sqldb.One(ctx, r.DB, scan, `SELECT `+columns+` FROM partners WHERE client_id = $1`, clientID)
	return orUnknown(p, err, "get a partner by its client id")
}
