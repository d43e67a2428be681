package account

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// NoteDataRead records that an actor reads all data about a user, to answer the user's request. It
// returns a fault if the user is unknown or erased.
func (b *Store) NoteDataRead(ctx context.Context, by audit.Actor, id int64) error {
	u, err := b.Get(ctx, id)
	if err != nil {
		return err
	}
	if !u.ErasedAt.IsZero() {
		return ErrErased()
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		audit.Record(tx, b.Now(), by, "user.data", subject(id), nil, nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("record that the data of user %d is read: %w", id, err)
	}
	return nil
}
