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
	"claviger/internal/wire"
)

// Headers of htmx 4: for an element of the page, and for the whole page, as after the back button.
var (
	partial = []string{"HX-Request", "true", "HX-Request-Type", "partial", "HX-Target", "div#rows"}
	whole   = []string{"HX-Request", "true", "HX-Request-Type", "full", "HX-History-Restore-Request", "true"}
)

// serve runs a handler on one request with headers.
func serve(t *testing.T, headers []string, h func(http.ResponseWriter, *http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/list", http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r)
	return w
}

// TestFragmentByType: only a request of the type partial gets a fragment.
func TestFragmentByType(t *testing.T) {
	p := sample(t)
	for name, c := range map[string]struct {
		headers  []string
		fragment bool
	}{
		"browser":             {nil, false},
		"htmx, partial":       {partial, true},
		"htmx, full":          {whole, false},
		"htmx without a type": {[]string{"HX-Request", "true"}, false},
		"a type without htmx": {[]string{"HX-Request-Type", "partial"}, false},
		"boosted":             {[]string{"HX-Request", "true", "HX-Request-Type", "full", "HX-Boosted", "true"}, false},
	} {
		w := serve(t, c.headers, func(w http.ResponseWriter, r *http.Request) {
			if err := p.Render(w, r, "list", ui.View{Title: "List", Fragment: "rows", Status: http.StatusAccepted, Data: `<31 & more>`}); err != nil {
				t.Error(err)
			}
		})
		body := w.Body.String()
		if whole := strings.HasPrefix(body, "<!doctype html>"); whole == c.fragment || strings.Contains(body, "<h1>") != whole {
			t.Errorf("%s gets\n%s", name, body)
		}
		if !strings.Contains(body, `<div id="rows"><p>&lt;31 &amp; more&gt;</p></div>`) || w.Code != http.StatusAccepted {
			t.Errorf("%s gets %d\n%s", name, w.Code, body)
		}
	}
}

// TestNoFragmentIsTheWholePage: a page without a fragment is always complete.
func TestNoFragmentIsTheWholePage(t *testing.T) {
	p := sample(t)
	w := serve(t, partial, func(w http.ResponseWriter, r *http.Request) {
		if err := p.Render(w, r, "text", ui.View{Data: "Whole"}); err != nil {
			t.Error(err)
		}
	})
	if !strings.HasPrefix(w.Body.String(), "<!doctype html>") {
		t.Errorf("got\n%s", w.Body)
	}
}

// TestFragmentsAndPagesInCaches: no cache may confuse the two, for any answer.
func TestFragmentsAndPagesInCaches(t *testing.T) {
	p := sample(t)
	view := ui.View{Fragment: "rows", Data: "x"}
	for name, h := range map[string]func(http.ResponseWriter, *http.Request){
		"page":     func(w http.ResponseWriter, r *http.Request) { _ = p.Render(w, r, "list", view) },
		"error":    func(w http.ResponseWriter, r *http.Request) { p.Fail(w, r, errors.New("the disk is full")) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { p.Headers(w.Header()); ui.SeeOther(w, r, "/next") },
		"twice": func(w http.ResponseWriter, r *http.Request) {
			p.Headers(w.Header())
			_ = p.Render(w, r, "list", view)
		},
	} {
		for _, headers := range [][]string{nil, partial, whole} {
			got := serve(t, headers, h).Header()
			if vary := strings.Join(got.Values("Vary"), ", "); vary != "HX-Request, HX-Request-Type" || got.Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %v: Vary %q, Cache-Control %q", name, headers, vary, got.Get("Cache-Control"))
			}
		}
	}
}

// TestFragmentSaysWhatHappened: the problem is above the fragment, the notice is for the status
// region of the page around it.
func TestFragmentSaysWhatHappened(t *testing.T) {
	p := sample(t)
	w := serve(t, partial, func(w http.ResponseWriter, r *http.Request) {
		view := ui.View{Fragment: "rows", Status: http.StatusUnprocessableEntity, Problem: "The URL <b> is not reachable.", Notice: "Saved.", Data: "Rows"}
		if err := p.Render(w, r, "list", view); err != nil {
			t.Error(err)
		}
	})
	want := `<div class="notice bad" role="alert"><p>The URL &lt;b&gt; is not reachable.</p></div>

<div id="rows"><p>Rows</p></div>
<div id="status" hx-swap-oob="innerHTML"><div class="notice good"><p>Saved.</p></div></div>`
	if got := w.Body.String(); got != want || w.Code != http.StatusUnprocessableEntity {
		t.Errorf("got %d\n%s", w.Code, got)
	}
	page := serve(t, nil, func(w http.ResponseWriter, r *http.Request) { _ = p.Render(w, r, "list", ui.View{Data: "x"}) })
	if !strings.Contains(page.Body.String(), `<div id="status" class="status" role="status"></div>`) {
		t.Errorf("the shell has no empty status region:\n%s", page.Body)
	}
}

// TestFragmentOfAnError: an error that people can fix is shown in place of the fragment. Others go
// to the status region, and the page stays.
func TestFragmentOfAnError(t *testing.T) {
	p := sample(t)
	for name, c := range map[string]struct {
		err      error
		status   int
		retarget string
		says     string
	}{
		"fault":    {fault.New(fault.Missing, "unknown_license", "There is no such <license>."), http.StatusNotFound, "", "There is no such &lt;license&gt;."},
		"throttle": {&fault.Error{Kind: fault.Throttled, Code: "slow_down", Text: "Wait."}, http.StatusTooManyRequests, "", "Wait."},
		"error":    {errors.New("the disk is full"), http.StatusInternalServerError, "#status", "req_9"},
		"away":     {context.DeadlineExceeded, http.StatusServiceUnavailable, "#status", "try again in a moment"},
	} {
		w := serve(t, partial, func(w http.ResponseWriter, r *http.Request) {
			ctx, _ := wire.Begin(r.Context(), "req_9", "")
			p.Fail(w, r.WithContext(ctx), c.err)
		})
		body := w.Body.String()
		if w.Code != c.status || !strings.HasPrefix(body, `<div class="notice bad"`) || !strings.Contains(body, c.says) || strings.Contains(body, "the disk") {
			t.Errorf("%s: %d\n%s", name, w.Code, body)
		}
		if got := w.Header().Get("HX-Retarget"); got != c.retarget || (w.Header().Get("HX-Reswap") == "innerHTML") != (c.retarget != "") {
			t.Errorf("%s: HX-Retarget %q, HX-Reswap %q", name, got, w.Header().Get("HX-Reswap"))
		}
	}
	// A failing template has sent nothing yet.
	w := serve(t, partial, func(w http.ResponseWriter, r *http.Request) {
		err := p.Render(w, r, "broken", ui.View{Fragment: "main"})
		if err == nil || w.(*httptest.ResponseRecorder).Body.Len() > 0 {
			t.Errorf("rendering: %v", err)
		}
		p.Fail(w, r, err)
	})
	if w.Code != http.StatusInternalServerError || w.Header().Get("HX-Retarget") != "#status" {
		t.Errorf("got %d, %v", w.Code, w.Header())
	}
	// A browser that shows the error as a page is not redirected.
	if h := serve(t, nil, func(w http.ResponseWriter, r *http.Request) { p.Fail(w, r, errors.New("x")) }).Header(); h.Get("HX-Retarget") != "" {
		t.Errorf("a page has %v", h)
	}
}

// TestFragmentLeavesTheFlash: a table that refreshes itself must not use up a flash meant for the
// next whole page.
func TestFragmentLeavesTheFlash(t *testing.T) {
	v, p := flashed(t)
	for _, view := range []ui.View{{Fragment: "rows", Data: "x"}, {Data: "a whole page"}} {
		if got := v.render(p, "list", view, partial...); strings.Contains(got, "Saved.") {
			t.Errorf("a fragment request shows the flash:\n%s", got)
		}
	}
	if got := v.render(p, "list", ui.View{Data: "x"}, whole...); !strings.Contains(got, "Saved.") {
		t.Errorf("the whole page lacks the flash:\n%s", got)
	}
}

// TestRedirectOfAFragment: htmx would follow a redirect and put a page into a page.
func TestRedirectOfAFragment(t *testing.T) {
	redirect := func(w http.ResponseWriter, r *http.Request) { ui.SeeOther(w, r, "/next?a=1") }
	for _, headers := range [][]string{nil, whole} {
		if w := serve(t, headers, redirect); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/next?a=1" || w.Header().Get("HX-Redirect") != "" {
			t.Errorf("%v: %d, %v", headers, w.Code, w.Header())
		}
	}
	w := serve(t, partial, redirect)
	if w.Code != http.StatusNoContent || w.Header().Get("HX-Redirect") != "/next?a=1" || w.Header().Get("Location") != "" {
		t.Errorf("got %d, %v", w.Code, w.Header())
	}
}

// TestRedirectThatWasNotSaved: htmx does not leave the page if the session, and with it the result
// of the form, could not be stored.
func TestRedirectThatWasNotSaved(t *testing.T) {
	v := newVisitor(t, false)
	w := v.visit(func(ctx context.Context, w http.ResponseWriter) {
		v.sessions.Flash(ctx, "Saved.")
		v.store.err = errors.New("refused")
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Request-Type", "partial")
		ui.SeeOther(w, r, "/next")
	})
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("HX-Redirect") != "" {
		t.Errorf("got %d, %v", w.Code, w.Header())
	}
}

func TestCurrentURL(t *testing.T) {
	const page = "http://example.com/list?status=failed"
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"htmx": {[]string{"HX-Request", "true", "HX-Current-URL", page}, page}, "browser": {[]string{"HX-Current-URL", page}, ""},
	} {
		serve(t, c.headers, func(_ http.ResponseWriter, r *http.Request) {
			if got := ui.CurrentURL(r); got != c.want {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}
