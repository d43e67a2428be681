package ui_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// logoPNG returns a picture of the given size.
func logoPNG(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, height))); err != nil {
		panic(err) // a buffer never fails
	}
	return b.Bytes()
}

func TestParseAccent(t *testing.T) {
	for _, tt := range []struct{ text, why string }{
		{"", ""},
		{"#0c5c49", ""},
		{"1b4173", ""},
		{" #8a1a12 , #ffb9b1", ""},
		{"#ffcc00", "cannot be read on light pages: #ffcc00 has a contrast of 1.3:1, and text needs 4.5:1; choose a darker one, such as #856a00"},
		{"#0c5c49,#0c5c49", ", and text needs 4.5:1; choose a lighter one, such as #"},
		{"green", "must be a colour such as #0c5c49"},
		{"#12345", "must be a colour such as #0c5c49"},
		{"#0c5c49,", "must be a colour such as #0c5c49"},
		{"#0c5c49;}body{", "must be a colour such as #0c5c49"},
	} {
		_, err := ui.ParseAccent(tt.text)
		if (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.why)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReadLogo(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		why  string
	}{
		"a mark":          {logoPNG(64, 64), ""},
		"a wide one":      {logoPNG(400, 64), ""},
		"an SVG":          {[]byte("<svg/>"), "use a PNG, JPEG or WebP"},
		"too many pixels": {logoPNG(2049, 1), "at most 2048 on each side"},
		"too many bytes":  {make([]byte, 513<<10), "at most 512 KiB"},
	} {
		_, err := ui.ReadLogo(tt.data)
		if said(err) != "" && tt.why == "" || !strings.Contains(said(err), tt.why) {
			t.Errorf("%s: %v, want %q", name, err, tt.why)
		}
	}
}

// TestImprintFiles: the files of the imprint are cached forever under their own URLs, and other
// URLs have nothing.
func TestImprintFiles(t *testing.T) {
	accent, err := ui.ParseAccent("#1b4173")
	if err != nil {
		t.Fatal(err)
	}
	logo, err := ui.ReadLogo(logoPNG(64, 64))
	if err != nil {
		t.Fatal(err)
	}
	mux := wire.NewMux(ui.Imprint{Accent: accent, Logo: logo}.Routes()...)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w
	}
	for path, want := range map[string]string{accent.Path(): "--accent: light-dark(#1b4173, #", logo.Path(): "\x89PNG"} {
		w := get(path)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/brand/0/accent.css", "/brand/x/y"} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	mux = wire.NewMux(ui.Imprint{}.Routes()...)
	if w := get("/brand/x/y"); w.Code != http.StatusNotFound {
		t.Errorf("without an imprint: %d", w.Code)
	}
}
