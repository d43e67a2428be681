package mail

import "context"

// Once does one round.
func (s *Sender) Once(ctx context.Context) (int, error) { return s.once(ctx) }

// SealOld seals what waits in the clear.
func (s *Sender) SealOld(ctx context.Context) error { return s.sealOld(ctx) }
