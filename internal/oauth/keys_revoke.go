package oauth

import (
	"context"
	"slices"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Revoke removes a key that may be compromised. It is no longer published, and tokens that it
// signed are no longer accepted. If it is active or next, Revoke also removes the other keys of its
// algorithm that have not signed yet, because they were stored beside it. New keys replace them
// immediately. It returns all keys.
func (k *Keys) Revoke(ctx context.Context, by audit.Actor, kid string) ([]Key, error) {
	alg, err := k.algOf(ctx, kid)
	if err != nil {
		return nil, err
	}
	made, err := k.makeKeys([]Alg{alg, alg})
	if err != nil {
		return nil, err
	}
	return k.change(ctx, "revoke a signing key", func(tx *sqldb.Tx, before []row) error {
		i := slices.IndexFunc(before, func(r row) bool { return r.kid == kid })
		if i < 0 {
			return unknownKey(kid) // another request revoked it meanwhile
		}
		now := k.Now()
		revoked, _ := k.state(before, i, now)
		for j, r := range before {
			state, _ := k.state(before, j, now)
			if j == i || revoked != Previous && r.alg == alg && state == Next {
				tx.Queue(`DELETE FROM oauth_keys WHERE id = $1`, r.id)
				audit.Record(tx, now, by, "key.revoke", subjectOf(r.kid), r.facts(), nil)
			}
		}
		if revoked == Previous {
			return nil
		}
		active := made[0]
		next := made[1]
		active.createdAt = now
		active.activatesAt = now
		next.createdAt = now
		if revoked == Active {
			if err := add(ctx, tx, by, active); err != nil {
				return err
			}
		}
		return add(ctx, tx, by, next)
	})
}

// algOf returns the algorithm of a stored key.
func (k *Keys) algOf(ctx context.Context, kid string) (Alg, error) {
	rows, err := stored(ctx, k.DB)
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		if r.kid == kid {
			return r.alg, nil
		}
	}
	return "", unknownKey(kid)
}

func unknownKey(kid string) error {
	return fault.New(fault.Missing, codeUnknownKey, "There is no signing key %s; list the keys to see their ids.", kid)
}
