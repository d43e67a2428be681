package redelivery

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/sqldb"
)

// RoleOf returns the field that replaces the lookup of a person's role.
func (s *Store) RoleOf() *func(context.Context, sqldb.Reader, int64) (account.Role, error) {
	return &s.roleOf
}
