package oauth

import (
	"context"
	"time"
)

// KeyLife is how long a key should sign before another takes its place. Nothing ends
// after that time; people are told KeyNotice before it.
const (
	KeyLife   = 365 * 24 * time.Hour
	KeyNotice = 30 * 24 * time.Hour
)

// EndsAt is when an active key has signed for KeyLife; zero: it does not sign, or another
// key takes its place before.
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
