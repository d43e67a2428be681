package docsite_test

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"claviger/docs"
	"claviger/internal/api"
	"claviger/internal/apptest"
	"claviger/internal/oauth"
	"claviger/internal/operator"
)

// site is the documentation in a service.
type site struct {
	*testing.T
	url    string
	client *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	h := apptest.Start(t)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	return &site{t, h.App.URL(), client}
}

// get reads a page and checks its status.
func (s *site) get(status int, path string, header ...string) apptest.Answer {
	s.Helper()
	a := apptest.Send(s, s.client, http.MethodGet, s.url+path, "", append(header, "Accept: text/html")...)
	if a.Status != status {
		s.Fatalf("%s answers %d, want %d:\n%.500s", path, a.Status, status, a.Body)
	}
	return a
}

var (
	hrefs = regexp.MustCompile(`(?:href|src|srcset)="(/docs[^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]+)"`)
)

// TestGuides: every guide is a page and Markdown; its links lead to existing pages and anchors.
func TestGuides(t *testing.T) {
	s := newSite(t)
	pages := map[string]string{}
	read := func(path string) string {
		if _, ok := pages[path]; !ok {
			pages[path] = s.get(http.StatusOK, path).Body
		}
		return pages[path]
	}
	guides := docs.Guides()
	if len(guides) < 6 || guides[0].Name != "first-hour" {
		t.Fatalf("the guides are %+v", guides)
	}
	home, list := read("/docs/"), s.get(http.StatusOK, "/llms.txt")
	for _, g := range guides {
		title := strings.TrimPrefix(strings.SplitN(g.Text, "\n", 2)[0], "# ")
		page := read("/docs/" + g.Name)
		if strings.Count(page, "<h1>") != 1 || !strings.Contains(html.UnescapeString(page), "<h1>"+title+"</h1>") {
			t.Errorf("%s does not have the title %q", g.Name, title)
		}
		if strings.Contains(page, `.md"`) && strings.Count(page, `.md"`) != 1 { // except the link to its own Markdown
			t.Errorf("%s links to Markdown", g.Name)
		}
		raw := s.get(http.StatusOK, "/docs/"+g.Name+".md")
		if raw.Body != g.Text || raw.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
			t.Errorf("%s.md is %s, %.80s", g.Name, raw.Header.Get("Content-Type"), raw.Body)
		}
		s.get(http.StatusNotModified, "/docs/"+g.Name+".md", "If-None-Match: "+raw.Header.Get("ETag"))
		if !strings.Contains(html.UnescapeString(home), title) || !strings.Contains(list.Body, "["+title+"]("+s.url+"/docs/"+g.Name+".md)") {
			t.Errorf("%s is not listed", g.Name)
		}
		for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			to := read(path)
			if anchor != "" && !slices.ContainsFunc(ids.FindAllStringSubmatch(to, -1), func(id []string) bool { return id[1] == anchor }) {
				t.Errorf("%s leads to %s, which has no such anchor", g.Name, m[1])
			}
		}
	}
	s.get(http.StatusNotFound, "/docs/nothing")
	s.get(http.StatusNotFound, "/docs/nothing.md")
	s.get(http.StatusNotFound, "/docs/pictures/nothing.png")
}

// TestSearch: all words are searched, by their beginnings, in guides and calls.
func TestSearch(t *testing.T) {
	s := newSite(t)
	for query, want := range map[string][]string{
		"old+timestamp":          {`<a href="/docs/webhooks#scenarios">Scenarios</a>`, "<mark>old</mark> <mark>timestamp</mark>"},
		"VERIFY+signature":       {`<a href="/docs/webhooks#2-verify-the-signature">`},
		"redeliver+%2Fv2":        {`<a href="/docs/api#partner-api-redeliverEvent">POST /v2/events/{event_id}/redeliver</a>`, "Partner API"},
		"ignature":               {"Nothing has all of these words"},
		"<script>alert(1)":       {"Nothing has all of these words", "&lt;script&gt;alert(1)"},
		"%C3%A9%F0%9F%98%80":     {"Nothing has all of these words"},
		"":                       {"<h1>Search the documentation</h1>"},
		"signature+zzznotthere":  {"Nothing has all of these words"},
		"cr%C3%A8me+br%C3%BBl":   {"<mark>crème</mark> <mark>brûl</mark>"},
		"a+b+c+d+e+f+g+h+i+j+k+": {"<h1>"},
	} {
		page := s.get(http.StatusOK, "/docs/search?q="+query).Body
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%q does not find %s", query, text)
			}
		}
		if strings.Contains(page, "<script>alert") {
			t.Errorf("%q is not escaped", query)
		}
	}
	s.get(http.StatusUnprocessableEntity, "/docs/search?q="+strings.Repeat("x", 201))
}

// TestCalls: the list has every call of every API.
func TestCalls(t *testing.T) {
	s := newSite(t)
	page := html.UnescapeString(s.get(http.StatusOK, "/docs/api").Body)
	for name, text := range map[string][]byte{"partner-api": api.Description(), "operator-api": operator.Description(), "oauth-and-openid": oauth.Description()} {
		found := regexp.MustCompile(`"operationId": ?"([A-Za-z0-9]+)"`).FindAllSubmatch(text, -1)
		if len(found) < 5 {
			t.Errorf("%s has %d calls", name, len(found))
		}
		for _, m := range found {
			if !strings.Contains(page, ` id="`+name+"-"+string(m[1])+`"`) && string(m[1]) != "receiveEvent" { // which partners serve
				t.Errorf("the list lacks %s of %s", m[1], name)
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("the list has the id %s twice", m[1])
		}
		seen[m[1]] = true
	}
}

// TestReference: the page runs only scripts from its own files, and names all APIs.
func TestReference(t *testing.T) {
	s := newSite(t)
	a := s.get(http.StatusOK, "/docs/reference")
	policy := a.Header.Get("Content-Security-Policy")
	nonce := regexp.MustCompile(`<meta property="csp-nonce" content="([A-Z0-9]{26})">`).FindStringSubmatch(a.Body)
	if nonce == nil || !strings.Contains(policy, "'nonce-"+nonce[1]+"'") || !strings.Contains(policy, "script-src 'self';") || strings.Contains(strings.Replace(policy, "; style-src-attr 'unsafe-inline';", ";", 1), "unsafe") || strings.Contains(policy, "eval") {
		t.Errorf("the policy is %s", policy)
	}
	if again := s.get(http.StatusOK, "/docs/reference"); strings.Contains(again.Body, nonce[1]) {
		t.Error("the nonce is the same for all")
	}
	if strings.Count(a.Body, "<script") != 2 || strings.Count(a.Body, "<script src=\"/docs/assets/") != 2 {
		t.Errorf("the page has other scripts:\n%s", a.Body)
	}
	for _, url := range []string{"/v2/openapi.json", "/openid/openapi.json", "/operator/v1/openapi.json"} {
		s.get(http.StatusOK, url)
		if !strings.Contains(html.UnescapeString(a.Body), `"url":"`+url+`"`) {
			t.Errorf("the page does not name %s", url)
		}
	}
	for _, m := range hrefs.FindAllStringSubmatch(a.Body, -1) {
		s.get(http.StatusOK, m[1])
	}
}

// TestThirdPartyFiles: the files match THIRD_PARTY.md, byte for byte, with any accepted encoding.
func TestThirdPartyFiles(t *testing.T) {
	s := newSite(t)
	const path, want = "/docs/assets/0000000000000000/scalar.js", "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c"
	zip := s.get(http.StatusOK, path, "Accept-Encoding: gzip, br")
	if zip.Header.Get("Content-Encoding") != "gzip" || zip.Header.Get("Vary") != "Accept-Encoding" || zip.Header.Get("ETag") == "" || len(zip.Body) > 2<<20 {
		t.Errorf("it is sent with %v, %d bytes", zip.Header, len(zip.Body))
	}
	z, err := gzip.NewReader(strings.NewReader(zip.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || got != want {
		t.Errorf("scalar.js has the hash %s, %v", got, err)
	}
	plain := s.get(http.StatusOK, path)
	if plain.Body != string(text) || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("without compression: %v, %d bytes", plain.Header, len(plain.Body))
	}
	s.get(http.StatusNotModified, path, "Accept-Encoding: gzip", "If-None-Match: "+zip.Header.Get("ETag"))
	s.get(http.StatusNotFound, "/docs/assets/0000000000000000/scalar.js.gz")
	s.get(http.StatusNotFound, "/docs/assets/0000000000000000/nothing.js")
	current := hrefs.FindAllStringSubmatch(s.get(http.StatusOK, "/docs/reference").Body, -1)
	i := slices.IndexFunc(current, func(m []string) bool { return strings.HasSuffix(m[1], "/scalar.js") })
	if cache := s.get(http.StatusOK, current[i][1]).Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") || strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("browsers cache it by %s, and another version by %s", cache, plain.Header.Get("Cache-Control"))
	}
}
