package mail

import "context"

// Once runs one round.
func (s *Sender) Once(ctx context.Context) (int, error) { return s.once(ctx) }

// SealOld seals unsealed waiting emails.
func (s *Sender) SealOld(ctx context.Context) error { return s.sealOld(ctx) }
