package area

import (
	"embed"
	"html/template"
	"io/fs"

	"claviger/internal/ui"
)

//go:embed all:pages
var files embed.FS

// NewPages reads the templates of a package, in its folder pages, and those that the
// portal and the console share, for a marketplace of that name at that URL.
func NewPages(own fs.FS, funcs template.FuncMap, brand, publicURL string) (*ui.Pages, error) {
	p, err := ui.NewWith(files, own, funcs, "pages/*.html")
	if err != nil {
		return nil, err
	}
	p.Brand, p.PublicURL = brand, publicURL
	return p, nil
}
