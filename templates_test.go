package claviger_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"testing"
)

// evaluated finds code that a browser or htmx would evaluate as a script, which the content
// security policy forbids: inline handlers and styles, hx-on, values that begin with js:, and
// filters of triggers. See decisions/0016-htmx.md.
var evaluated = regexp.MustCompile(`(?i)\s(on[a-z]+|style|hx-on[^\s=]*|data-hx-on[^\s=]*)=|javascript:|=["']js:|hx-trigger="[^"]*\[|<script(\s[^>]*)?>[^<]|hx-disable|hx-history-cache`)

func TestTemplates(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS("."), "internal", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".html" || name == "internal/mail/content.html" { // not a page
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found++
		for _, match := range evaluated.FindAllString(string(text), -1) {
			t.Errorf("%s has %q: the page must work without evaluating it", name, match)
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d templates were read, %v", found, err)
	}
}
