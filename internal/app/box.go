package app

import (
	"context"

	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Box makes what seals and opens the secrets of a database, for a command that
// works on it without the house.
func Box(ctx context.Context, db *sqldb.DB, cfg Config) (*secret.Box, error) {
	return (&App{cfg: cfg, log: cfg.logger()}).box(ctx, db)
}
