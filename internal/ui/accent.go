package ui

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Accent is the colour of buttons, links and marks. The zero value is the default accent.
type Accent struct {
	css   string
	path  string // of its style sheet
	light string // colour on light pages
}

// Light returns the colour on light pages in CSS notation, "" for the default. White text is
// readable on it.
func (a Accent) Light() string { return a.light }

// Path returns the path of the accent's style sheet, "" for the default.
func (a Accent) Path() string { return a.path }

// colour is an sRGB colour.
type colour [3]uint8

// minContrast is the contrast between text and background that WCAG requires.
const minContrast = 4.5

// Backgrounds behind text in the accent colour: of those in app.css, the closest ones.
var (
	lightGround = colour{0xf1, 0xf3, 0xf1}
	darkGround  = colour{0x20, 0x28, 0x26}
	white       = colour{255, 255, 255}
	black       = colour{}
	lightCard   = white
	darkCard    = colour{0x18, 0x1e, 0x1c}
	onDark      = colour{0x08, 0x12, 0x0f} // text on the accent of dark pages
)

// ParseAccent reads a colour such as #0c5c49, or two separated by a comma: for light and for dark
// pages. Without a second one, a lighter one is computed. "" is the default accent. It rejects
// colours that make text unreadable.
func ParseAccent(text string) (Accent, error) {
	if text == "" {
		return Accent{}, nil
	}
	first, second, two := strings.Cut(text, ",")
	light, err := parseColour(first)
	if err != nil {
		return Accent{}, err
	}
	dark := light.until(white, darkGround, 7)
	if two {
		if dark, err = parseColour(second); err != nil {
			return Accent{}, err
		}
	}
	if got := contrast(light, lightGround); got < minContrast {
		return Accent{}, fmt.Errorf(
			"cannot be read on light pages: %s has a contrast of %.1f:1, and text needs %.1f:1; choose a darker "+
				"one, such as %s",
			light,
			floor(got),
			minContrast,
			light.until(black, lightGround, minContrast),
		)
	}
	if got := contrast(dark, darkGround); got < minContrast {
		return Accent{}, fmt.Errorf(
			"cannot be read on dark pages: %s has a contrast of %.1f:1, and text needs %.1f:1; choose a lighter "+
				"one, such as %s, or name only the colour for light pages",
			dark,
			floor(got),
			minContrast,
			dark.until(white, darkGround, minContrast),
		)
	}
	return newAccent(light, dark), nil
}

// newAccent writes the style sheet. It is outside all layers, so it overrides app.css.
func newAccent(light, dark colour) Accent {
	css := fmt.Sprintf(`:root {
  --accent: light-dark(%s, %s);
  --accent-strong: light-dark(%s, %s);
  --on-accent: light-dark(%s, %s);
  --accent-soft: light-dark(%s, %s);
  --chart-1: light-dark(%[1]s, %[2]s);
}
`, light, dark, light.strong(black), dark.strong(white), white, onDark, light.soft(lightCard), dark.soft(darkCard))
	return Accent{css: css, path: brandPath("accent.css", []byte(css)), light: light.String()}
}

// strong returns the hover colour, with more contrast to its background.
func (c colour) strong(to colour) colour { return c.mix(to, .3) }

// soft returns the ground with a touch of the colour.
func (c colour) soft(ground colour) colour { return ground.mix(c, .1) }

var errColour = errors.New("must be a colour such as #0c5c49, or two with a comma: for light and for dark pages")

func parseColour(text string) (colour, error) {
	hex := strings.TrimPrefix(strings.TrimSpace(text), "#")
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		return colour{}, errColour
	}
	return colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, nil //nolint:gosec // only the low byte counts
}

// String returns the colour in CSS notation.
func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// mix returns the colour with the given share of other.
func (c colour) mix(other colour, share float64) colour {
	var out colour
	for i := range out {
		out[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(other[i])*share))
	}
	return out
}

// until makes the colour lighter or darker, with the same hue, until it has the wanted contrast to
// ground.
func (c colour) until(to, ground colour, want float64) colour {
	hue, saturation, lightness := c.hsl()
	step := .01
	if to == black {
		step = -step
	}
	for l := lightness; l >= 0 && l <= 1; l += step {
		if made := fromHSL(hue, saturation, l); contrast(made, ground) >= want {
			return made
		}
	}
	return to
}

// hsl returns hue (in sixths of the circle), saturation and lightness.
func (c colour) hsl() (hue, saturation, lightness float64) {
	r := float64(c[0]) / 255
	g := float64(c[1]) / 255
	b := float64(c[2]) / 255
	high := max(r, g, b)
	low := min(r, g, b)
	span := high - low
	lightness = (high + low) / 2
	if span == 0 {
		return 0, 0, lightness
	}
	switch high {
	case r:
		hue = math.Mod((g-b)/span+6, 6)
	case g:
		hue = (b-r)/span + 2
	default:
		hue = (r-g)/span + 4
	}
	return hue, span / (1 - math.Abs(2*lightness-1)), lightness
}

// fromHSL returns the colour with a hue, saturation and lightness.
func fromHSL(hue, saturation, lightness float64) colour {
	var out colour
	reach := saturation * min(lightness, 1-lightness)
	for i, from := range []float64{0, 4, 2} { // red, green, blue; formula of CSS Color 4
		k := math.Mod(from*2+hue*2, 12)
		out[i] = uint8(math.Round(255 * (lightness - reach*max(-1, min(k-3, 9-k, 1)))))
	}
	return out
}

// luminance returns the relative luminance of WCAG 2.
func (c colour) luminance() float64 {
	var l float64
	for i, weight := range []float64{.2126, .7152, .0722} {
		v := float64(c[i]) / 255
		if v <= .04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

// contrast returns the contrast ratio of WCAG 2, from 1 to 21.
func contrast(a, b colour) float64 {
	x := a.luminance()
	y := b.luminance()
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// floor keeps one decimal and never rounds up: 4.49 is not 4.5.
func floor(n float64) float64 { return math.Floor(n*10) / 10 }
