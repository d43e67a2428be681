package ui_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"claviger/internal/ui"
)

// clocked returns a visitor of a service with another clock than the machine.
func clocked(t *testing.T, ahead time.Duration) (v *visitor, advance func(time.Duration)) {
	now := time.Now().Add(ahead)
	v = newVisitor(t, false)
	v.store.now = func() time.Time { return now }
	v.sessions.Now = v.store.now
	return v, func(d time.Duration) { now = now.Add(d) }
}

// TestClockOfTheService: sessions begin and end by the clock of the service, not the machine's.
// Browsers keep the cookie as long as the session can last.
func TestClockOfTheService(t *testing.T) {
	for _, ahead := range []time.Duration{-400 * 24 * time.Hour, 8 * 24 * time.Hour, 31 * 24 * time.Hour} {
		v, advance := clocked(t, ahead)
		v.signIn(7)
		if age := time.Duration(v.cookie.MaxAge) * time.Second; age < ui.SessionLife-time.Minute || age > ui.SessionLife+time.Minute {
			t.Errorf("%s ahead: the browser keeps the cookie for %s", ahead, age)
		}
		for day := 6; day < 30; day += 6 {
			advance(6 * 24 * time.Hour)
			if v.who() != 7 {
				t.Fatalf("%s ahead: signed out on day %d", ahead, day)
			}
		}
		advance(6*24*time.Hour + time.Minute)
		if v.who() != 0 {
			t.Errorf("%s ahead: still signed in after thirty days", ahead)
		}
		v.signIn(7)
		advance(7*24*time.Hour + time.Minute)
		if v.who() != 0 {
			t.Errorf("%s ahead: still signed in after a week without a visit", ahead)
		}
	}
}

// over reports whether the staff session of a visitor has ended.
func (v *visitor) over(wrap func(http.Handler) http.Handler) (over bool) {
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodGet, "/", nil)
	r.AddCookie(v.cookie)
	w := httptest.NewRecorder()
	wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s, ok := v.sessions.SignedIn(r.Context())
		over = !ok || v.sessions.StaffOver(s)
	})).ServeHTTP(w, r)
	return over
}

// TestStaffOver: a staff session ends after some time, or without use. Automatic requests of an
// open page are no use, and late use does not revive it.
func TestStaffOver(t *testing.T) {
	v, advance := clocked(t, 0)
	sign := func() {
		v.visit(func(ctx context.Context, _ http.ResponseWriter) {
			if err := v.sessions.SignIn(ctx, ui.Signed{UserID: 7, At: v.sessions.Now()}); err != nil {
				t.Error(err)
			}
		})
	}
	sign()
	advance(6 * 24 * time.Hour)
	if v.over(v.sessions.Wrap) {
		t.Error("without a limit it is over")
	}
	v.sessions.StaffLife, v.sessions.StaffIdle = 12*time.Hour, time.Hour
	sign()
	for range 12 {
		advance(time.Hour)
		if v.over(v.sessions.Wrap) {
			t.Error("it is over while it is used")
		}
	}
	if advance(time.Second); !v.over(v.sessions.Wrap) {
		t.Error("it is not over after its life")
	}
	sign()
	for range 6 {
		advance(10 * time.Minute)
		if v.over(v.sessions.WrapLive) {
			t.Error("it is over within the hour")
		}
	}
	if advance(time.Second); !v.over(v.sessions.WrapLive) {
		t.Error("an open page kept it")
	}
	for range 2 {
		if !v.over(v.sessions.Wrap) {
			t.Error("late use brought it back")
		}
		advance(10 * time.Minute)
	}
	if v.who() != 7 {
		t.Error("the person is signed out everywhere")
	}
}

// TestStaffOverOfOldSessions: for a session of an earlier release the last use counts, and late use
// does not revive it.
func TestStaffOverOfOldSessions(t *testing.T) {
	v, advance := clocked(t, 0)
	v.signIn(7)
	v.sessions.StaffIdle = time.Hour
	now := v.sessions.Now()
	old, err := scs.GobCodec{}.Encode(now.Add(24*time.Hour), map[string]any{"user": int64(8), "at": now.UnixNano(), "seen": now.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	for key := range v.store.rows {
		v.store.rows[key] = row{old, now.Add(24 * time.Hour)}
	}
	advance(50 * time.Minute)
	if v.over(v.sessions.Wrap) {
		t.Error("it is over within the hour")
	}
	advance(50 * time.Minute)
	if v.over(v.sessions.Wrap) {
		t.Error("it is over while it is used")
	}
	for key := range v.store.rows {
		v.store.rows[key] = row{old, now.Add(24 * time.Hour)}
	}
	for range 3 {
		if !v.over(v.sessions.Wrap) {
			t.Error("it is not over")
		}
		advance(10 * time.Minute)
	}
}
