package mail

import "context"

// Once does one round.
func (s *Sender) Once(ctx context.Context) (int, error) { return s.once(ctx) }
