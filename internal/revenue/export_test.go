package revenue

import "context"

// CountSome is Count with a batch of another size.
func (b *Store) CountSome(ctx context.Context, most int) (more bool, err error) {
	return b.count(ctx, most)
}
