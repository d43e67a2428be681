package ui

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAccentReads: with every accepted accent, all text in it and on it is readable, and the colour
// that a rejection suggests is accepted.
func TestAccentReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`#[0-9a-f]{6}`).Draw(t, "accent")
		if rapid.Bool().Draw(t, "two") {
			text += "," + rapid.StringMatching(`#[0-9a-f]{6}`).Draw(t, "dark")
		}
		a, err := ParseAccent(text)
		if err == nil {
			wantReadable(t, a)
			return
		}
		_, better, _ := strings.Cut(err.Error(), "such as ")
		better = better[:7]
		if strings.Contains(err.Error(), "dark pages") {
			better = text[:7] + "," + better
		}
		if _, err := ParseAccent(better); err != nil {
			t.Fatalf("%s is refused, and so is %s: %v", text, better, err)
		}
	})
}

// wantReadable checks the style sheet of an accent.
func wantReadable(t *rapid.T, a Accent) {
	var light, dark [4]string // accent, strong, on, soft
	_, err := fmt.Sscanf(a.css, ":root {\n --accent: light-dark(%7s, %7s);\n --accent-strong: light-dark(%7s, %7s);\n --on-accent: light-dark(%7s, %7s);\n --accent-soft: light-dark(%7s, %7s);",
		&light[0], &dark[0], &light[1], &dark[1], &light[2], &dark[2], &light[3], &dark[3])
	if err != nil {
		t.Fatalf("%v in %s", err, a.css)
	}
	for ground, of := range map[colour][4]string{lightGround: light, darkGround: dark} {
		var c [4]colour
		for i, text := range of {
			if c[i], err = parseColour(text); err != nil {
				t.Fatal(err)
			}
		}
		for what, got := range map[string]float64{
			"the accent on a page": contrast(c[0], ground), "the strong accent on a page": contrast(c[1], ground),
			"text on the accent": contrast(c[2], c[0]), "text on the strong accent": contrast(c[2], c[1]),
			"the strong accent on the soft one": contrast(c[1], c[3]),
		} {
			if got < minContrast {
				t.Fatalf("%s has a contrast of %.2f in %s", what, got, a.css)
			}
		}
	}
}
