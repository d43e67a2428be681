package ui_test

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// addresses returns the URLs of the assets that a page uses.
func addresses(t *testing.T) []string {
	t.Helper()
	_, body := shown(t, sample(t), "text", ui.View{Data: "Hello"})
	found := regexp.MustCompile(`/assets/[0-9a-f]{16}/[a-z]+\.[a-z]+`).FindAllString(body, -1)
	if len(found) != 4 {
		t.Fatalf("the page names %q, want style, script, logo and icon", found)
	}
	return found
}

func TestAssets(t *testing.T) {
	mux := wire.NewMux(ui.Assets()...)
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for _, path := range addresses(t) {
		t.Run(path[len("/assets/0123456789abcdef/"):], func(t *testing.T) {
			plain := get(t, mux, path)
			text := read(t, plain)
			for name, want := range map[string]string{
				"Content-Type":           kinds[path[strings.LastIndex(path, "."):]],
				"Cache-Control":          "public, max-age=31536000, immutable",
				"X-Content-Type-Options": "nosniff",
				"Vary":                   "Accept-Encoding",
				"Content-Encoding":       "",
			} {
				if got := plain.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			zipped := get(t, mux, path, "Accept-Encoding", "br, gzip;q=0.8")
			z, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			unzipped, err := io.ReadAll(z)
			if err != nil || string(unzipped) != text || zipped.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("the compressed file differs: %v, %v", err, zipped.Header)
			}
			if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
				t.Error("two representations have one ETag")
			}
			again := get(t, mux, path, "Accept-Encoding", "gzip", "If-None-Match", `"x", `+zipped.Header.Get("ETag"))
			if body := read(t, again); again.StatusCode != http.StatusNotModified || body != "" {
				t.Errorf("asked again: %d, %d bytes", again.StatusCode, len(body))
			}
			if refused := get(t, mux, path, "Accept-Encoding", "gzip;q=0"); refused.Header.Get("Content-Encoding") != "" {
				t.Error("gzip was sent to who refused it")
			}
		})
	}
}

// TestAssetOfAnotherVersion: a page of another version gets its style, and does not cache it under
// that version's URL.
func TestAssetOfAnotherVersion(t *testing.T) {
	mux := wire.NewMux(ui.Assets()...)
	got := get(t, mux, "/assets/0000000000000000/app.css")
	if cache := got.Header.Get("Cache-Control"); got.StatusCode != http.StatusOK || cache != "no-cache" {
		t.Errorf("status %d, Cache-Control %q", got.StatusCode, cache)
	}
	if got := get(t, mux, "/assets/0000000000000000/secret.css"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a file that does not exist: %d", got.StatusCode)
	}
}

// TestThirdPartyFiles: the files match THIRD_PARTY.md, byte for byte.
func TestThirdPartyFiles(t *testing.T) {
	for name, want := range map[string]string{
		"htmx.js":     "e484d9171a9db30a39c8f16e3d709d4137f3211c659f8e6125816635033d593f",
		"htmx-sse.js": "8a834680c4000a9034d79228872372a92e140c810a075cb6d4a76690dfc13085",
	} {
		text := read(t, get(t, wire.NewMux(ui.Assets()...), "/assets/0000000000000000/"+name))
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); got != want {
			t.Errorf("%s has the hash %s", name, got)
		}
	}
}
