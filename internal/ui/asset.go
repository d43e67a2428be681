package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

//go:embed assets
var assetFolder embed.FS

// assetFile is one static file, ready to send.
type assetFile struct {
	kind  string
	etag  string
	plain []byte
	zip   func() []byte // compressed on first use: most commands send no page
}

// assets by name, and the version in their URLs. A new build with other files has other URLs, so
// browsers may cache them forever.
var assets, version = loadAssets()

// kinds are the content types of assets, by extension.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// loadAssets reads the files. They are part of the program, so an error here is a bug.
func loadAssets() (map[string]assetFile, string) {
	files, err := fs.ReadDir(assetFolder, "assets")
	if err != nil {
		panic(err)
	}
	list := make(map[string]assetFile)
	all := sha256.New()
	for _, f := range files {
		text, err := assetFolder.ReadFile("assets/" + f.Name())
		if err != nil {
			panic(err)
		}
		all.Write([]byte(f.Name() + "\x00")) // a hash never fails
		all.Write(text)
		sum := sha256.Sum256(text)
		list[f.Name()] = assetFile{
			kind:  kinds[path.Ext(f.Name())],
			etag:  hex.EncodeToString(sum[:8]),
			plain: text,
			zip:   sync.OnceValue(func() []byte { return gzipped(text) }),
		}
	}
	return list, hex.EncodeToString(all.Sum(nil)[:8])
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, err := z.Write(text)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a buffer never fails
	}
	return b.Bytes()
}

// assetURL returns the URL of an asset. An unknown name is an error of the template.
func assetURL(name string) (string, error) {
	if _, ok := assets[name]; !ok {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return "/assets/" + version + "/" + name, nil
}

// asset returns the URL of an existing asset.
func asset(name string) string {
	at, err := assetURL(name)
	if err != nil {
		panic(err) // a bug in the program
	}
	return at
}

// Favicon returns the URL of our icon.
func Favicon() string { return asset("favicon.svg") }

// Assets returns the routes of the static files: style, script, logo and icon.
func Assets() []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, "/assets/{version}/{name}", serveAsset)}
}

// serveAsset sends one file. While nodes of two versions run, a page of one may request the style
// of the other: it gets the current file and does not cache it.
func serveAsset(w http.ResponseWriter, r *http.Request) error {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		return fault.New(fault.Missing, wire.CodeNotFound, "There is no such file.")
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.PathValue("version") != version {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	body := a.plain
	etag := `"` + a.etag + `"`
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		body = a.zip()
		etag = `"` + a.etag + `-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", etag)
	if match := r.Header.Get("If-None-Match"); match == "*" || strings.Contains(match, etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if _, err := w.Write(body); err != nil {
		wire.RequestLogOf(r.Context()).Gone = true
		return fmt.Errorf("send the asset: %w", err)
	}
	return nil
}

// AcceptsGzip reports whether an Accept-Encoding header allows gzip.
func AcceptsGzip(header string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(part string) bool {
		name, weight, _ := strings.Cut(part, ";")
		if strings.TrimSpace(name) != "gzip" {
			return false
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return err != nil || q > 0
	})
}
