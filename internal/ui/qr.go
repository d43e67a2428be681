package ui

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// quiet is the width of the white border that readers need around a QR code, in modules.
const quiet = 4

// QR draws a text as a QR code: an SVG image, black on white in every color scheme. label describes
// it for people who cannot see it.
func QR(text, label string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	size := code.Size + 2*quiet
	//nolint:gosec // the label is escaped, and the rest is numbers
	return template.HTML(
		fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="%s" shape-rendering="crispEdges">`+
			`<rect width="%d" height="%d" fill="#fff"/><path d="%s" fill="#000"/></svg>`,
			size, size, template.HTMLEscapeString(label), size, size, path.String()),
	), nil
}
