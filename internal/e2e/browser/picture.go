package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// The window of a Picture, in CSS pixels.
const (
	pictureWidth  = 1120
	pictureHeight = 760
)

// Picture writes the window into a folder, as name-light.png and name-dark.png. It is
// for documents; Look is for tests.
func (tab *Tab) Picture(dir, name string) {
	tab.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tab.t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		tab.paint(scheme, pictureWidth)
		run(tab, "set the window", chromedp.EmulateViewport(pictureWidth, pictureHeight))
		shot := run(tab, "take a picture", chromedp.CaptureScreenshot())
		small, err := shrink(shot)
		if err != nil {
			tab.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), small, 0o644); err != nil {
			tab.t.Fatal(err)
		}
	}
	tab.paint("light", Desk)
}

// shrink reduces a PNG to its 256 most frequent colors: pages have few, and the rest are shades at
// the edges of letters.
func shrink(shot []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	bounds := full.Bounds()
	count := make(map[color.RGBA]int)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	colors := make([]color.RGBA, 0, len(count))
	for c := range count {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	palette := make(color.Palette, 0, 256)
	for _, c := range colors[:min(len(colors), 256)] {
		palette = append(palette, c)
	}
	index := make(map[color.RGBA]uint8, len(count))
	for c := range count {
		index[c] = uint8(palette.Index(c)) //nolint:gosec // a palette has 256 colors
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, index[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)])
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out)
	return b.Bytes(), err
}
