package wire_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"claviger/internal/wire"
)

// tagged answers {} with a computed tag and a Link header.
func tagged(t *testing.T, link string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for _, v := range header {
		r.Header.Add("If-None-Match", v)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Link", link)
	if err := wire.AppendTagged(w, r, "", func(b []byte) []byte { return append(b, "{}"...) }); err != nil {
		t.Fatal(err)
	}
	return w.Result()
}

func TestIfNoneMatch(t *testing.T) {
	tag := tagged(t, "").Header.Get("ETag")
	strong := tag[len("W/"):]
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"none":                      {nil, 200},
		"the tag":                   {[]string{tag}, 304},
		"the tag as a strong one":   {[]string{strong}, 304},
		"another":                   {[]string{`W/"x"`}, 200},
		"one of several":            {[]string{`"x", ` + tag + `,"y"`}, 304},
		"none of several":           {[]string{`"x", "y"`}, 200},
		"one of several lines":      {[]string{`"x"`, tag}, 304},
		"anything":                  {[]string{" * "}, 304},
		"a tag that has the tag":    {[]string{`"x` + strong[1:]}, 200},
		"the tag without its quote": {[]string{strong[1 : len(strong)-1]}, 200},
		"nothing":                   {[]string{""}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			got := tagged(t, "", c.header...)
			if got.StatusCode != c.want {
				t.Errorf("answered %d, want %d", got.StatusCode, c.want)
			}
			if got.Header.Get("ETag") != tag || got.Header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("the headers are %v", got.Header)
			}
			if sent := got.Header.Get("Content-Length") != ""; sent != (c.want == 200) {
				t.Errorf("a body of %q bytes was sent with %d", got.Header.Get("Content-Length"), got.StatusCode)
			}
		})
	}
}

// TestTagCoversThePage: the same body with another Link is another page.
func TestTagCoversThePage(t *testing.T) {
	first := tagged(t, `</?page=2>; rel="next"`)
	if got := tagged(t, "", first.Header.Get("ETag")); got.StatusCode != 200 {
		t.Errorf("a page whose links have changed was answered %d", got.StatusCode)
	}
}

// TestTagsAreOfTheirParts: the boundaries of parts count.
func TestTagsAreOfTheirParts(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a", "c"}, nil} {
		tag := wire.Tag(parts...)
		if other, ok := seen[tag]; ok {
			t.Errorf("%q and %q have one tag", parts, other)
		}
		seen[tag] = parts
	}
}

// TestNotModifiedNeedsTheTag: "*" needs to know whether anything exists, which only a read shows.
func TestNotModifiedNeedsTheTag(t *testing.T) {
	for header, want := range map[string]bool{`W/"a"`: true, `"a"`: true, `"b"`: false, "*": false, "": false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("If-None-Match", header)
		w := httptest.NewRecorder()
		if got := wire.NotModified(w, r, `W/"a"`); got != want || want && w.Code != 304 || !want && len(w.Result().Header) > 0 {
			t.Errorf("%s: %v, %d %v", header, got, w.Code, w.Result().Header)
		}
	}
}
