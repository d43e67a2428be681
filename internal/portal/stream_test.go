package portal_test

import (
	"bufio"
	"html"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/visitor/pagetest"
)

// stream is the open stream of a page.
type stream struct {
	*harness
	lines *bufio.Scanner
}

// follow opens the stream of a page as a browser does.
func (h *harness) follow(b *pagetest.Browser, page *pagetest.Page) *stream {
	h.Helper()
	_, path, ok := strings.Cut(page.Body, `hx-sse:connect="`)
	if !ok {
		h.Fatalf("the page has no stream:\n%s", page.Text())
	}
	path, _, _ = strings.Cut(path, `"`)
	answer := b.Send(h.Context(), http.MethodGet, html.UnescapeString(path), nil, "same-origin")
	h.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		h.Fatalf("%s is answered %d", path, answer.StatusCode)
	}
	s := &stream{harness: h, lines: bufio.NewScanner(answer.Body)}
	s.lines.Buffer(nil, 1<<20)
	return s
}

// next returns the data of the next message.
func (s *stream) next() string {
	s.Helper()
	var data []string
	for s.lines.Scan() {
		text, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		switch {
		case ok:
			data = append(data, text)
		case s.lines.Text() == "" && len(data) > 0:
			return strings.Join(data, "\n")
		}
	}
	s.Fatalf("the stream has ended: %v", s.lines.Err())
	return ""
}

// event returns the name of the next event.
func (s *stream) event() string {
	s.Helper()
	for s.lines.Scan() {
		if name, ok := strings.CutPrefix(s.lines.Text(), "event: "); ok {
			return name
		}
	}
	s.Fatalf("the stream has ended: %v", s.lines.Err())
	return ""
}

// until returns the first message that contains a text.
func (s *stream) until(text string) string {
	s.Helper()
	for {
		if data := s.next(); strings.Contains(data, text) {
			return data
		}
	}
}

// TestStreamEnds: a person who signs out or loses the role while a page is open only gets the end
// of the stream, and the page cannot reconnect. Both take effect immediately, on every node, even
// without news for the page.
func TestStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(h *harness)
		says string
		then int
	}{
		"signed out": {func(h *harness) {
			h.as(developer).Post("/sign-out")
		}, "event: close", http.StatusUnauthorized},
		"removed": {func(h *harness) {
			h.Must(h.Partners.RemoveMember(h.Context(), apptest.Tester, h.tide.ID, h.User(developer).ID))
		}, "event: close", http.StatusUnauthorized},
		"demoted": {func(h *harness) {
			_, err := h.Partners.ChangeRole(h.Context(), apptest.Tester, h.tide.ID, h.User(developer).ID, partner.Developer, partner.Viewer)
			h.Must(err)
		}, "event: close", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			app, shows := h.server(h.tide), h.App.URL()
			if sqldbtest.Postgres() {
				other := h.Node()
				other.Serve()
				shows = other.App.URL()
			}
			_, _, _, err := h.Profiles.Amend(t.Context(), apptest.Tester, h.tide.ID, partner.Change{}, profile.URLChange{Webhook: &app.url}, false)
			h.Must(err)
			// Signing out changes the browser's cookie, so the stream has a copy of it.
			cookie := h.as(developer).Cookie()
			open := func() *http.Response {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shows+h.path("/deliveries/live"), http.NoBody)
				h.Must(err)
				r.AddCookie(cookie)
				answer, err := http.DefaultClient.Do(r)
				h.Must(err)
				t.Cleanup(func() { _ = answer.Body.Close() })
				return answer
			}
			answer := open()
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("the stream is answered %d", answer.StatusCode)
			}
			c.end(h)
			var events []string
			for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
				switch text := lines.Text(); {
				case strings.HasPrefix(text, "event:"), strings.HasPrefix(text, "data: <"):
					events = append(events, text)
				case text == ": still here": // after 15 seconds, long before the periodic check of the access
					t.Fatal("the stream goes on")
				}
			}
			if len(events) != 1 || events[0] != c.says {
				t.Errorf("the stream sent %q", events)
			}
			if got := open(); got.StatusCode != c.then || got.Header.Get("Location") != "" {
				t.Errorf("the next one is answered %d", got.StatusCode)
			}
		})
	}
}
