package app

import (
	"context"

	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Sealer makes what seals and opens the secrets of a database, for a command that
// works on it without an App.
func Sealer(ctx context.Context, db *sqldb.DB, cfg Config) (*secret.Sealer, error) {
	return newApp(cfg).sealer(ctx, db)
}
