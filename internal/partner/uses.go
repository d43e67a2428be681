package partner

import (
	"log/slog"
	"time"

	"claviger/internal/lastuse"
	"claviger/internal/sqldb"
)

// NewUses returns the recorder of the last uses of credentials.
func NewUses(db *sqldb.DB, log *slog.Logger) *lastuse.Uses {
	return &lastuse.Uses{DB: db, Log: log, Write: func(tx *sqldb.Tx, id int64, at, unless time.Time) {
		tx.Queue(`UPDATE partner_secrets SET last_used_at = $2 WHERE id = $1 AND last_used_at <= $3`, id, at, unless)
	}}
}
