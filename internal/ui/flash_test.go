package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/ui"
)

// flashed returns a visitor with a flash in the session, and the pages shown to them.
func flashed(t *testing.T) (*visitor, *ui.Pages) {
	t.Helper()
	v := newVisitor(t, false)
	v.visit(func(ctx context.Context, w http.ResponseWriter) {
		v.sessions.Flash(ctx, "Saved.")
		w.Header().Set("Location", "/next")
		w.WriteHeader(http.StatusSeeOther)
	})
	return v, sample(t)
}

// render shows the visitor a page and returns its body.
func (v *visitor) render(p *ui.Pages, name string, view ui.View, headers ...string) string {
	w := v.visit(func(ctx context.Context, w http.ResponseWriter) {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/next", http.NoBody)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if err := p.Render(w, r, name, view); err != nil {
			p.Fail(w, r, err)
		}
	})
	return w.Body.String()
}

func TestFlashIsShownOnce(t *testing.T) {
	v, p := flashed(t)
	for i, want := range []bool{true, false} {
		if got := strings.Contains(v.render(p, "text", ui.View{Data: "Next"}), "Saved."); got != want {
			t.Errorf("page %d shows the flash: %v", i+1, got)
		}
	}
}

// TestFlashIsLeftForAPage: an unread answer does not use up the flash.
func TestFlashIsLeftForAPage(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		view ui.View
	}{
		"a page with a notice of its own": {"text", ui.View{Data: "Next", Notice: "Hello."}},
		"a page that redirects by itself": {"text", ui.View{Data: "Next", DelayedRedirect: &ui.DelayedRedirect{To: "/", Wait: func() {}}}},
		"a template that fails":           {"broken", ui.View{}},
		"a page that does not exist":      {"nowhere", ui.View{}},
	} {
		t.Run(name, func(t *testing.T) {
			v, p := flashed(t)
			if strings.Contains(v.render(p, c.page, c.view), "Saved.") {
				t.Error("the flash is shown")
			}
			if !strings.Contains(v.render(p, "text", ui.View{Data: "Next"}), "Saved.") {
				t.Error("the next page has no flash")
			}
		})
	}
}

func TestFlashIsLeftByErrorPages(t *testing.T) {
	for name, err := range map[string]error{
		"fault": fault.New(fault.Missing, "unknown_license", "There is no such license."), "error": errors.New("the disk is full"),
	} {
		v, p := flashed(t)
		w := v.visit(func(ctx context.Context, w http.ResponseWriter) {
			p.Fail(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody), err)
		})
		if strings.Contains(w.Body.String(), "Saved.") || !strings.Contains(v.render(p, "text", ui.View{Data: "Next"}), "Saved.") {
			t.Errorf("%s: the error page used the flash up", name)
		}
	}
}

// TestNote: a note is sent to one path only, and survives a reload.
func TestNote(t *testing.T) {
	p := sample(t)
	for _, c := range []struct {
		url    string
		secure bool
	}{{"http://localhost:8080", false}, {"https://market.example", true}} {
		p.PublicURL = c.url
		w := httptest.NewRecorder()
		p.SetNote(w, "/check-mail", "ann@example.com ✓")
		cookie := w.Result().Cookies()[0]
		if cookie.Path != "/check-mail" || !cookie.HttpOnly || cookie.Secure != c.secure || cookie.MaxAge != 3600 {
			t.Errorf("%s: the cookie is %s", c.url, cookie)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/check-mail", http.NoBody)
		r.AddCookie(cookie)
		if got := ui.Note(r); got != "ann@example.com ✓" {
			t.Errorf("%s: the note is %q", c.url, got)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/check-mail", http.NoBody)
	if got := ui.Note(r); got != "" {
		t.Errorf("without a cookie the note is %q", got)
	}
	r.AddCookie(&http.Cookie{Name: "claviger-note", Value: "%%"})
	if got := ui.Note(r); got != "" {
		t.Errorf("of a broken cookie the note is %q", got)
	}
}
