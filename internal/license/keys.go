package license

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Keys returns the keys of licenses by their ids; unknown ids are left out.
func (r *Store) Keys(ctx context.Context, ids []int64) (map[int64]string, error) {
	type row struct {
		id  int64
		key string
	}
	list, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, v *row) error { return r.Scan(&v.id, &v.key) },
		`SELECT id, license_key FROM licenses WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("look up the keys of licenses: %w", err)
	}
	keys := make(map[int64]string, len(list))
	for _, v := range list {
		keys[v.id] = v.key
	}
	return keys, nil
}
