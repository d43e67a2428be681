package app

import (
	"context"

	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Sealer returns the sealer of a database's secrets, for a command that uses it without an App.
func Sealer(ctx context.Context, db *sqldb.DB, cfg Config) (*secret.Sealer, error) {
	return newApp(cfg).sealer(ctx, db)
}
