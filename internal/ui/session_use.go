package ui

import (
	"context"
	"time"
)

// time returns the named time of the session.
func (s *Sessions) time(ctx context.Context, name string) time.Time {
	return time.Unix(0, s.scs.GetInt64(ctx, name)).UTC()
}

// used returns the last use of the session for the console and the portal. Sessions of an earlier
// release have only the last use of any page.
func (s *Sessions) used(ctx context.Context) time.Time {
	if s.scs.GetInt64(ctx, keyUsed) == 0 {
		return s.time(ctx, keySeen)
	}
	return s.time(ctx, keyUsed)
}

// touchEvery returns the interval of storing the last use, short enough for a short StaffIdle.
func (s *Sessions) touchEvery() time.Duration {
	if s.StaffIdle > 0 {
		return min(touch, s.StaffIdle/12)
	}
	return touch
}

// use stores every few minutes that the session is in use. A staff session past its idle timeout
// stays ended: a page of the shop does not revive it.
func (s *Sessions) use(ctx context.Context) context.Context {
	now := s.Now()
	if s.scs.GetInt64(ctx, keySeen) == 0 || now.Sub(s.time(ctx, keySeen)) <= s.touchEvery() {
		return ctx
	}
	used := s.used(ctx)
	if !s.idle(used, now) {
		used = now
	}
	s.scs.Put(ctx, keyUsed, used.UnixNano())
	s.scs.Put(ctx, keySeen, now.UnixNano())
	return context.WithValue(ctx, touchedKey{}, true)
}

// idle reports whether a staff session with this last use has ended.
func (s *Sessions) idle(used, now time.Time) bool {
	return s.StaffIdle > 0 && now.Sub(used) > s.StaffIdle
}

// StaffOver reports whether a session is too old or too long unused for the console and the portal.
// Elsewhere the person is still signed in.
func (s *Sessions) StaffOver(who Signed) bool {
	now := s.Now()
	return s.StaffLife > 0 && now.Sub(who.At) > s.StaffLife || s.idle(who.Used, now)
}
