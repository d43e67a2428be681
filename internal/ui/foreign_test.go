package ui_test

import (
	"strings"
	"testing"

	"claviger/internal/ui"
)

// TestForeign: a text of another server is shown as text and cannot look like another one.
func TestForeign(t *testing.T) {
	for in, want := range map[string]string{
		"plain <b>text</b>\n\twith ü 東": "plain <b>text</b>\n\twith ü 東",
		"a\x00b\x1b[31mred\r":           `a\u0000b\u001B[31mred\u000D`,
		"abc\u202Egpj.exe\u2066x\u200B": `abc\u202Egpj.exe\u2066x\u200B`,
		"line\u2028sep":                 `line\u2028sep`,
		"bad \xff byte":                 "bad \uFFFD byte",
		strings.Repeat("x", 20_000):     strings.Repeat("x", 16<<10) + "\n… (3616 more bytes are not shown)",
	} {
		if got := ui.Foreign(in); got != want {
			t.Errorf("%.40q is shown as %.80q", in, got)
		}
	}
}
