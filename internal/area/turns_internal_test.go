package area

import "context"

// Turns lets open pages be made again one at a time.
type Turns struct{ turns }

// Take waits for a turn.
func (t *Turns) Take(ctx context.Context, person int64) (done func(), err error) {
	return t.take(ctx, person)
}
