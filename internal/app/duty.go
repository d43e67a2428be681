package app

import (
	"context"
	"log/slog"
	"time"

	"claviger/internal/once"
)

// Housekeeping is the duty of removing what has had its time: answers kept for
// an Idempotency-Key. It can run on every node at once.
type Housekeeping struct {
	Answers *once.Keeper
	Every   time.Duration // 0 is an hour
	Log     *slog.Logger
}

// Run does a round now and then until ctx ends. A round that fails is logged
// and the next one comes all the same.
func (h *Housekeeping) Run(ctx context.Context) {
	every := h.Every
	if every == 0 {
		every = time.Hour
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		n, err := h.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.Log.Error("housekeeping failed; the next round tries again", "err", err)
		case n > 0:
			h.Log.Info("forgot stored answers that had their time", "count", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once does one round and returns how many answers it forgot.
func (h *Housekeeping) once(ctx context.Context) (int64, error) {
	return h.Answers.Forget(ctx)
}
