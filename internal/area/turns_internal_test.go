package area

import "context"

// Turns exports turns for tests.
type Turns struct{ turns }

// Take waits for a turn.
func (t *Turns) Take(ctx context.Context, person int64) (done func(), err error) {
	return t.take(ctx, person)
}
