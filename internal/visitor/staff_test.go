package visitor_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/visitor"
)

// TestStaffPages: the paths that require a new sign-in if the session is too old for the console
// and the portal. An invitation has its own check.
func TestStaffPages(t *testing.T) {
	h := newHarness(t)
	now := time.Now().UTC()
	h.site.Sessions.Now = func() time.Time { return now }
	h.site.Sessions.StaffLife, h.site.Sessions.StaffIdle = 12*time.Hour, time.Hour
	for _, path := range []string{"/console", "/portal", "/portal/7/page", "/consoles", account.InvitationPath, "/portal/invitation"} {
		h.routes = append(h.routes, h.site.Route(http.MethodGet, path, visitor.Anyone, h.page))
	}
	h.signIn()
	page := func(path string, want int) {
		t.Helper()
		if w := h.do(http.MethodGet, path); w.Code != want {
			t.Errorf("%s: %d to %q, want %d", path, w.Code, w.Header().Get("Location"), want)
		}
	}
	all := []string{"/console", "/console/page", "/portal", "/portal/7/page", "/console/stream"}
	for _, path := range all {
		page(path, http.StatusOK)
	}
	now = now.Add(time.Hour + time.Second)
	for _, path := range all {
		want := http.StatusSeeOther
		if path == "/console/stream" {
			want = http.StatusUnauthorized
		}
		page(path, want)
	}
	for _, path := range []string{"/own", "/anyone", "/consoles", account.InvitationPath, "/portal/invitation"} {
		page(path, http.StatusOK)
	}
}

// TestOpenPageEnds: an open page stops following as soon as the session is too old or a right is
// lost, except in the shop.
func TestOpenPageEnds(t *testing.T) {
	h := newHarness(t)
	now := time.Now().UTC()
	h.site.Sessions.Now = func() time.Time { return now }
	h.site.Sessions.StaffIdle = time.Hour
	h.setRole(account.RoleAdmin)
	h.signIn()
	h.do(http.MethodGet, "/console/page")
	v := h.seen[0]
	again := func(path string) (err error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.AddCookie(h.cookies[0])
		h.site.Sessions.WrapLive(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err = h.site.Again(r.Context(), r, v)
		})).ServeHTTP(httptest.NewRecorder(), r)
		return err
	}
	if err := again("/console/stream"); err != nil {
		t.Errorf("a new session: %v", err)
	}
	now = now.Add(time.Hour + time.Second)
	if again("/console/stream") == nil || again("/portal/7/stream") == nil || again("/checkout/stream") != nil {
		t.Error("an idle session")
	}
	h.signIn()
	if err := again("/console/stream"); err != nil {
		t.Errorf("after a new sign-in: %v", err)
	}
	other, _, err := h.site.Accounts.Create(t.Context(), tester, account.Person{Email: "bea@example.com"})
	if err == nil {
		_, err = h.site.Accounts.AddOperator(t.Context(), tester, other.Email)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.setRole(account.RoleViewer)
	if again("/console/stream") == nil || again("/checkout/stream") != nil {
		t.Error("somebody with a lower role")
	}
}
