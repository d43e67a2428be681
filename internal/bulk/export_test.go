package bulk

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/license"
)

// PaidHere returns the field that replaces the lookup of payments.
func (s *Store) PaidHere() *func(context.Context, license.RefundOrder) (bool, error) {
	return &s.paidHere
}

// May returns the field that replaces the lookup of an actor's rights.
func (s *Store) May() *func(context.Context, audit.Actor, account.Scope) (bool, error) { return &s.may }
