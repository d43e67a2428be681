package portal_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/portal"
	"claviger/internal/visitor/pagetest"
)

// table is the route table. Its handlers are not called.
func table() []portal.Route { return (&portal.Handler{}).Table() }

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// target is a route with its placeholders filled.
type target struct {
	portal.Route
	path string
	form url.Values // nil for a GET
}

// at fills a route of the partner with that id with things of owner.
func (h *harness) at(rt portal.Route, partnerID int64, owner partner.Partner) target {
	h.Helper()
	to := target{Route: rt}
	to.path = "/portal/" + strconv.FormatInt(partnerID, 10) + placeholder.ReplaceAllStringFunc(rt.Path, func(name string) string {
		fill, ok := placeholders[strings.Trim(name, "{}")]
		if !ok {
			h.Fatalf("%s: add %s to the placeholders of the isolation test", rt.Path, name)
		}
		return url.PathEscape(fill(h, owner))
	})
	switch {
	case rt.Kind == portal.Act:
		fill, ok := forms[rt.Path]
		if !ok {
			h.Fatalf("%s: add the act to the forms of the isolation test", rt.Path)
		}
		to.form = fill(h, owner)
	case queries[rt.Path] != nil:
		to.path += "?" + queries[rt.Path](h, owner).Encode()
	}
	return to
}

// send requests a target as a person. A stream that opens is not read.
func (h *harness) send(email string, to target, site string) *pagetest.Page {
	h.Helper()
	b := h.as(email)
	method := http.MethodGet
	if to.Kind == portal.Act {
		method = http.MethodPost
	}
	answer := b.Send(h.Context(), method, to.path, to.form, site)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		_ = answer.Body.Close()
		return &pagetest.Page{TB: h, Status: answer.StatusCode, Header: answer.Header}
	}
	return b.Read(answer)
}

// missing is a partner id that nobody has.
const missing = 987654321

// TestIsolation requests every route of the table as everybody who may not have it.
// They learn nothing: what is not theirs is answered like what does not exist, byte for
// byte. Who may have it gets an answer, so that the test does not pass by accident.
func TestIsolation(t *testing.T) {
	h := start(t)
	for _, rt := range table() {
		t.Run(strings.TrimPrefix(string(rt.Kind)+rt.Path, "/"), func(t *testing.T) {
			h := h.in(t)
			own := func() target { return h.at(rt, h.tide.ID, h.tide) } // a new one each time: an act may remove it
			unknown := h.at(rt, missing, nobody)
			nowhere := h.send(admin, unknown, "same-origin")
			if nowhere.Status != refused(rt) {
				t.Fatalf("a partner that does not exist: %d\n%s", nowhere.Status, nowhere.Body)
			}
			for _, email := range []string{stranger, buyer} {
				h.wantSame(email, own(), nowhere)
			}
			for _, m := range roles {
				if m.role.Covers(rt.Role) {
					h.wantAnswer(m.email, own())
				} else {
					h.wantSame(m.email, own(), nowhere)
				}
			}
			h.wantSignIn(own())
			h.wantForeignIDsUnknown(rt)
			if rt.Kind == portal.Act {
				if got := h.send(admin, own(), "cross-site"); got.Status != http.StatusForbidden {
					t.Errorf("a form of another site: %d", got.Status)
				}
			}
		})
	}
}

// refused is how a route answers people who may not have it. The page of a stream gives
// up at 401.
func refused(rt portal.Route) int {
	if rt.Kind == portal.Stream {
		return http.StatusUnauthorized
	}
	return http.StatusNotFound
}

// in is the harness in a subtest.
func (h *harness) in(t *testing.T) *harness {
	in := *h
	in.Harness, in.web = h.In(t), h.web.In(t)
	return &in
}

// wantSame checks that somebody gets the answer of what does not exist.
func (h *harness) wantSame(email string, to target, want *pagetest.Page) {
	h.Helper()
	got := h.send(email, to, "same-origin")
	if got.Status != refused(to.Route) || got.Body != want.Body {
		h.Errorf("%s as %s: %d, not the answer of what does not exist:\n%s", to.path, email, got.Status, got.Body)
	}
}

// wantAnswer checks that a person who may gets an answer.
func (h *harness) wantAnswer(email string, to target) {
	h.Helper()
	got := h.send(email, to, "same-origin")
	switch {
	case got.Status == http.StatusOK, got.Status == http.StatusSeeOther:
	case to.Kind == portal.Act && got.Status >= 400 && got.Status < 500 && got.Status != http.StatusNotFound && got.Status != http.StatusForbidden:
		// Another test sends the form with values that are accepted.
	default:
		h.Errorf("%s as %s: %d\n%s", to.path, email, got.Status, got.Body)
	}
	if strings.Contains(got.Body, h.reef.Name) || strings.Contains(got.Body, h.reef.ClientID) {
		h.Errorf("%s as %s shows things of another partner:\n%s", to.path, email, got.Body)
	}
}

// wantSignIn checks what somebody gets who is not signed in.
func (h *harness) wantSignIn(to target) {
	h.Helper()
	got := h.send("", to, "same-origin")
	switch {
	case to.Kind == portal.Stream && got.Status == http.StatusUnauthorized && got.Header.Get("Location") == "":
	case to.Kind != portal.Stream && got.Status == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), "/sign-in"):
	default:
		h.Errorf("%s as nobody: %d to %q", to.path, got.Status, got.Header.Get("Location"))
	}
}

// wantForeignIDsUnknown checks that an admin of Tide gets the same answer for ids of
// Reef as for ids that do not exist.
func (h *harness) wantForeignIDsUnknown(rt portal.Route) {
	h.Helper()
	if !placeholder.MatchString(rt.Path) && forms[rt.Path] == nil && queries[rt.Path] == nil {
		return
	}
	answer := func(owner partner.Partner) *pagetest.Page {
		to := h.at(rt, h.tide.ID, owner)
		got := h.send(admin, to, "same-origin")
		got.Body = without(got.Body, to)
		return got
	}
	foreign, unknown := answer(h.reef), answer(nobody)
	if foreign.Status != unknown.Status || foreign.Body != unknown.Body {
		h.Errorf("%s: ids of another partner are answered %d, unknown ones %d:\n%s\n%s", rt.Path, foreign.Status, unknown.Status, foreign.Body, unknown.Body)
	}
	if placeholder.MatchString(rt.Path) && foreign.Status != http.StatusNotFound {
		h.Errorf("%s: an id of another partner is answered %d", rt.Path, foreign.Status)
	}
}

// without takes out of a page what the form or the query had in it: a form with a
// mistake shows what was typed.
func without(body string, to target) string {
	sent := to.form
	if _, query, ok := strings.Cut(to.path, "?"); ok {
		sent, _ = url.ParseQuery(query) // made by Encode
	}
	for _, values := range sent {
		for _, v := range values {
			if v != "" {
				body = strings.ReplaceAll(body, v, "…")
			}
		}
	}
	return body
}

// update has TestIsolationTable write the table.
var update = flag.Bool("update", false, "write the table of routes into docs/portal.md")

// TestIsolationTable holds the table of docs/portal.md to the routes; -update writes it.
func TestIsolationTable(t *testing.T) {
	const file, begin, end = "../../docs/portal.md", "<!-- routes -->\n", "<!-- end of routes -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	now, after, ok := strings.Cut(rest, end)
	want := "\n" + markdown() + "\n"
	switch {
	case !ok:
		t.Fatalf("%s has no place for the table", file)
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case now != want:
		t.Errorf("%s has another table than the routes: run go test ./internal/portal -run IsolationTable -update", file)
	}
}

// markdown is the table of routes and roles.
func markdown() string {
	var b strings.Builder
	b.WriteString("| route | viewer | developer | admin | another partner's member, buyer | nobody |\n|---|---|---|---|---|---|\n")
	for _, rt := range table() {
		method, signIn, no := "GET", "sign-in", strconv.Itoa(refused(rt))
		switch rt.Kind {
		case portal.Act:
			method = "POST"
		case portal.Stream:
			method, signIn = "GET (stream)", "401"
		case portal.Page:
		}
		fmt.Fprintf(&b, "| %s `/portal/{partner}%s` |", method, rt.Path)
		for _, m := range roles {
			if m.role.Covers(rt.Role) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" " + no + " |")
			}
		}
		fmt.Fprintf(&b, " %s | %s |\n", no, signIn)
	}
	return b.String()
}
