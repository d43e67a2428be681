package claviger_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// metaphors are words without a plain use here. Say package, layer, HTTP API, job, service, request
// and email instead.
var metaphors = regexp.MustCompile(`(?i)\b(rooms?|doors?|houses?|duty|duties|furnish(ed)?|fares?|fortunes?|wish(es)?|e-mails?)\b`)

// humps finds the boundaries between the words of a name such as newHarness.
var humps = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// shown are further words that texts for people must not have: say expired, removed, pruned, typo,
// email, "You don't have access", "no action needed".
var shown = regexp.MustCompile(`(?i)\b(dead|gone|letters? (to|was|were|that)|for a slip|is not open to you|had its time|nothing to do for you|takes the post|having been here)\b`)

// counted is a number before a plural, which is wrong for 1: plural.Of, or the template function
// plural, handles both.
var counted = regexp.MustCompile(`(%d|\{\{[^{}"]*\}\}) ([a-z]+ )?(attempts|causes|codes|days|deliveries|endpoints|entries|events|hours|invitations|keys|licenses|mails|members|minutes|partners|passkeys|people|purchases|refunds|rows|seconds|sessions|steps|times|tokens|webhooks)\b`)

// pages are the packages with pages for people.
var pages = map[string]bool{"area": true, "console": true, "portal": true, "shop": true, "signin": true, "ui": true}

// statements are the packages with SQL texts that have other words.
var statements = map[string]bool{"bench": true, "cluster": true}

// TestPlainWords: comments, names, documents and texts for people use words that every Go engineer
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
			switch n := n.(type) {
			case *ast.Ident:
				if !seen[n.Name] {
					seen[n.Name] = true
					checkWords(t, s.set.Position(n.Pos()).String(), spaced(n.Name))
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && !s.test && n.Kind == token.STRING {
					checkShown(t, s.set.Position(n.Pos()).String(), s.name, text)
				}
			}
			return true
		})
	}
	for name, text := range templates(t) {
		for number, line := range strings.Split(text, "\n") {
			checkShown(t, name+":"+strconv.Itoa(number+1), nameOf(path.Dir(name)), line)
		}
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

// checkShown fails the test for each unplain word in a text for people, and for numbers before the
// wrong form of a noun.
func checkShown(t *testing.T, where, name, text string) {
	t.Helper()
	checkWords(t, where, text)
	if statements[name] {
		return
	}
	for _, word := range shown.FindAllString(text, -1) {
		t.Errorf("%s: write a plain word for %q", where, word)
	}
	if !pages[name] {
		return
	}
	for _, word := range counted.FindAllString(text, -1) {
		t.Errorf("%s: %q is wrong for 1; use plural.Of, or plural in a template", where, word)
	}
}

// templates returns the templates and descriptions that people read, by path.
func templates(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := fs.WalkDir(os.DirFS("."), "internal", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if ext := path.Ext(name); err != nil || entry.IsDir() || ext != ".html" && ext != ".yaml" {
			return err
		}
		texts[name] = read(t, name)
		return nil
	})
	if err != nil || len(texts) < 10 {
		t.Fatalf("%d templates were read, %v", len(texts), err)
	}
	return texts
}

// Most of these words per 1,000 words of comments and of docs. Sentences that begin with such a
// clause are hard to read: make a thing the subject.
const (
	maxCommentRate = 3
	maxDocRate     = 6
)

var (
	clauseWord = regexp.MustCompile(`(?i)\b(what|who|whose|whom|whoever|whatever)\b`)
	anyWord    = regexp.MustCompile(`[A-Za-z']+`)
)

// TestWordRates keeps sentences with a clause as their subject rare.
func TestWordRates(t *testing.T) {
	var comments, docs wordRate
	for _, s := range sources(t) {
		if s.path == "words_test.go" {
			continue
		}
		for _, group := range s.file.Comments {
			comments.add(s.set.Position(group.Pos()).String(), group.Text())
		}
	}
	for name, text := range documents(t) {
		if path.Dir(name) == "docs" {
			docs.add(name, text)
		}
	}
	comments.check(t, "comments", maxCommentRate)
	docs.check(t, "docs", maxDocRate)
}

// wordRate counts words and those that clauseWord finds.
type wordRate struct {
	words int
	found int
	lines []string // with a clause word, and the place where their text begins
}

func (r *wordRate) add(where, text string) {
	r.words += len(anyWord.FindAllString(text, -1))
	for line := range strings.Lines(text) {
		if n := len(clauseWord.FindAllString(line, -1)); n > 0 {
			r.found += n
			r.lines = append(r.lines, where+": "+strings.TrimSpace(line))
		}
	}
}

func (r *wordRate) check(t *testing.T, of string, most int) {
	t.Helper()
	if r.words < 10_000 {
		t.Fatalf("found %d words of %s; is the test blind?", r.words, of)
	}
	if 1000*r.found > most*r.words {
		t.Errorf("%s have %d words such as what and who in %d, at most %d of 1,000 are allowed:\n%s",
			of, r.found, r.words, most, strings.Join(r.lines[:min(40, len(r.lines))], "\n"))
	}
}
