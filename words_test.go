package claviger_test

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// metaphors are words that have no plain use here. Say package, layer, HTTP API, job,
// service, request and email instead.
var metaphors = regexp.MustCompile(`(?i)\b(rooms?|doors?|houses?|duty|duties|furnish(ed)?|fares?|fortunes?|wish(es)?|e-mails?)\b`)

// humps finds where the words of a name such as newHarness meet.
var humps = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// TestPlainWords: comments, names and documents use the words that every Go engineer
// knows.
func TestPlainWords(t *testing.T) {
	for _, s := range sources(t) {
		if s.path == "words_test.go" {
			continue
		}
		for _, group := range s.file.Comments {
			checkWords(t, s.set.Position(group.Pos()).String(), group.Text())
		}
		seen := make(map[string]bool)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
				seen[id.Name] = true
				checkWords(t, s.set.Position(id.Pos()).String(), spaced(id.Name))
			}
			return true
		})
	}
	for name, text := range documents(t) {
		for number, line := range strings.Split(text, "\n") {
			checkWords(t, name+":"+strconv.Itoa(number+1), line)
		}
	}
}

// spaced puts spaces between the words of a name such as newHarness.
func spaced(name string) string {
	return humps.ReplaceAllString(name, "$1 $2")
}

// checkWords fails the test for each metaphor in a text.
func checkWords(t *testing.T, where, text string) {
	t.Helper()
	for _, word := range metaphors.FindAllString(text, -1) {
		t.Errorf("%s: write a plain word for %q", where, word)
	}
}
