package oauth

import (
	"context"
	"time"
)

// KeyLife is the time after which a signing key should be replaced. Nothing expires then; people
// are told KeyNotice before it.
const (
	KeyLife   = 365 * 24 * time.Hour
	KeyNotice = 30 * 24 * time.Hour
)

// EndsAt returns when an active key has signed for KeyLife. It is zero if the key does not sign, or
// is replaced before.
func (k Key) EndsAt() time.Time {
	end := k.ActivatesAt.Add(KeyLife)
	if k.State != Active || !k.ServedUntil.IsZero() {
		return time.Time{}
	}
	return end
}

// Ending returns the keys that have signed for nearly KeyLife, or longer.
func (k *Keys) Ending(ctx context.Context) ([]Key, error) {
	list, err := k.List(ctx)
	if err != nil {
		return nil, err
	}
	var ending []Key
	for _, key := range list {
		if end := key.EndsAt(); !end.IsZero() && end.Before(k.Now().Add(KeyNotice)) {
			ending = append(ending, key)
		}
	}
	return ending, nil
}
