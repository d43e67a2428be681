package partner

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// ByID returns the partners with the ids, by id. Unknown ids are left out.
func ByID(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]Partner, error) {
	found := make(map[int64]Partner, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM partners WHERE partners.id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("look up partners: %w", err)
	}
	for _, p := range list {
		found[p.ID] = p
	}
	return found, nil
}
