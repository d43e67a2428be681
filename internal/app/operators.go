package app

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// AddOperator makes a person an admin of the marketplace, for a command that uses the database
// without an App; see account.Store. People who lose a second factor are told by email, which needs
// the secret key; a running service sends it.
func AddOperator(ctx context.Context, db *sqldb.DB, cfg Config, by audit.Actor, email string) (account.Added, error) {
	b := &account.Store{DB: db, Now: Now, PublicURL: cfg.URL(), Marketplace: cfg.Name}
	known, _, err := b.FindOne(ctx, email)
	if err != nil {
		return account.Added{}, err
	}
	if known.SecondFactor {
		box, err := Sealer(ctx, db, cfg)
		if err != nil {
			return account.Added{}, err
		}
		b.Mail = &mail.Outbox{Sealer: box}
	}
	return b.AddOperator(ctx, by, email)
}
