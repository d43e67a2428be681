package docsite

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"

	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// operations lists all calls, for people who want to read and not to try.
func (h *Handler) operations(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.render(w, r, v, "operations", ui.View{Title: "List of calls", Data: h.texts().calls})
}

// referencePage is a page without the common frame: Scalar fills the window and has its own style.
var referencePage = template.Must(template.ParseFS(files, "templates/_reference.tmpl"))

// styleElements are the hashes of the style elements that Scalar 1.72.1 creates without a nonce:
// its toasts, its theme and the window for trying calls. A browser test finds changes of another
// version.
const styleElements = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' " +
	"'sha256-ZW1GSuo0pKyEx5Ar7ZC5Dflb/mjatjeTW9aVx0iZAzE=' 'sha256-DLlkYCuDYGe6ME23YkUFB7Tc36rGDeo4mVBFbZX3uaU=' " +
	"'sha256-rO+6k1mDRASa9Q8IQu9I3bF+bjRdxDreAZCyGSaxzeI=' 'sha256-J67fTR5mDvALp7QuWc3tH+yxVQJfjhfhSOU5ebiDUuY='"

// referencePolicy returns the Content-Security-Policy of the reference. Scripts come only from our
// files, and nothing is loaded from or sent to another host. Styles made by Scalar are allowed by
// their nonce or hash. Its style attributes are dynamic and cannot be listed, but they cannot load
// or run anything under this policy.
func referencePolicy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' " + nonce + " " + styleElements +
		"; style-src-attr 'unsafe-inline'" +
		"; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors " +
		"'none'; base-uri 'none'"
}

// reference shows Scalar with the descriptions of all APIs.
func (h *Handler) reference(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	type source struct {
		Title string `json:"title"`
		Slug  string `json:"slug"`
		URL   string `json:"url"`
	}
	var sources []source
	for _, a := range h.APIs {
		sources = append(sources, source{a.Title, slug(a.Title), a.URL})
	}
	settings, err := json.Marshal(sources)
	if err != nil {
		return fmt.Errorf("write the list of APIs: %w", err)
	}
	nonce := rand.Text()
	var b bytes.Buffer
	err = referencePage.Execute(&b, map[string]any{
		"Brand": h.brand(), "Home": Path + "/", "Calls": Path + "/api", "Icon": ui.Favicon(), "Nonce": nonce,
		"Sources": string(settings),
		"Style":   assetURL("reference.css"), "Scalar": assetURL("scalar.js"), "Script": assetURL("reference.js"),
	})
	if err != nil {
		return fmt.Errorf("show the reference: %w", err)
	}
	w.Header().Set("Content-Security-Policy", referencePolicy("'nonce-"+nonce+"'"))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("send the reference: %w", err)
	}
	return nil
}
