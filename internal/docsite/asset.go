package docsite

import (
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"claviger/docs"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// Files of the reference. Scalar is stored and sent compressed: nearly every client accepts that.
// As a string it is sent from the mapped program file and takes no extra memory.
var (
	//go:embed assets/scalar.js.gz
	scalar string
	//go:embed assets/reference.js
	referenceJS string
	//go:embed assets/reference.css
	referenceCSS string
)

// assets are the files by name.
var assets = map[string]struct {
	kind, body string
	zipped     bool
}{
	"scalar.js":     {"text/javascript; charset=utf-8", scalar, true},
	"reference.js":  {"text/javascript; charset=utf-8", referenceJS, false},
	"reference.css": {"text/css; charset=utf-8", referenceCSS, false},
}

// version is the version of all assets, and part of their URLs: a new build with other files has
// other URLs, so browsers may cache them forever.
var version = sync.OnceValue(func() string { return tag(scalar + referenceJS + referenceCSS) })

// tag returns a short hash of a text.
func tag(text string) string {
	h := sha256.New()
	_, _ = io.WriteString(h, text) // a hash never fails
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// assetURL returns the URL of an asset.
func assetURL(name string) string { return Path + "/assets/" + version() + "/" + name }

// asset sends an asset.
func asset(w http.ResponseWriter, r *http.Request) error {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		return errNoFile()
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.PathValue("version") != version() {
		h.Set("Cache-Control", "no-cache") // of another version, running in parallel
	}
	if !a.zipped {
		return sendTagged(w, r, a.kind, version(), a.body)
	}
	h.Add("Vary", "Accept-Encoding")
	if !ui.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		return sendPlain(w, r, a.kind, a.body)
	}
	h.Set("Content-Encoding", "gzip")
	return sendTagged(w, r, a.kind, version()+"-gzip", a.body)
}

func errNoFile() error { return fault.New(fault.Missing, wire.CodeNotFound, "There is no such file.") }

// sendPlain sends a compressed file to a client that does not accept that. It is unpacked on the
// fly, because it is large and rarely needed.
func sendPlain(w http.ResponseWriter, r *http.Request, kind, zip string) error {
	z, err := gzip.NewReader(strings.NewReader(zip))
	if err != nil {
		return fmt.Errorf("unpack the file: %w", err)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, err := io.Copy(w, z); err != nil { //nolint:gosec // a file of the program
		wire.RequestLogOf(r.Context()).Gone = true
		return fmt.Errorf("send the file: %w", err)
	}
	return nil
}

// picture sends a picture of a guide.
func picture(w http.ResponseWriter, r *http.Request) error {
	b, ok := docs.Picture(r.PathValue("name"))
	if !ok {
		return errNoFile()
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	return sendTagged(w, r, "image/png", tag(string(b)), string(b))
}

// sendTagged sends a file with its tag, or 304 if the client has it.
func sendTagged(w http.ResponseWriter, r *http.Request, kind, tag, body string) error {
	etag := `"` + tag + `"`
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" || strings.Contains(h.Get("Cache-Control"), "no-store") {
		h.Set("Cache-Control", "public, max-age=300")
	}
	if match := r.Header.Get("If-None-Match"); match == "*" || strings.Contains(match, etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if _, err := io.WriteString(w, body); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true
		return fmt.Errorf("send the file: %w", err)
	}
	return nil
}
