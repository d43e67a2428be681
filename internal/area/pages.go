package area

import (
	"embed"
	"io/fs"

	"claviger/internal/ui"
)

//go:embed all:pages
var files embed.FS

// ReadPages reads the templates in a package's folder pages, and those that the portal and the
// console share.
func ReadPages(own fs.FS) (*ui.Pages, error) {
	return ui.NewWith(files, own, nil, "pages/*.html")
}
