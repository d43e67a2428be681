// Package markdown turns the text that partners write about their products into HTML that
// our pages can show. It owns which HTML that may be: paragraphs, headings below those of
// the page, lists, emphasis, code, quotes and links. There are no images, no raw HTML, no
// styles and no scripts.
package markdown

import (
	"bytes"
	"html/template"
	"regexp"
	"slices"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var (
	converter = goldmark.New(goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(demote{}, 0))))
	policy    = newPolicy()
)

// pageLevel is the level of the heading that a page has above the text.
const pageLevel = 2

// demote moves headings below those of the page and closes gaps between their levels, so
// that the outline of the page stays true: who writes "###" first means the first level.
type demote struct{}

// Transform is goldmark's.
func (demote) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var headings []*ast.Heading
	var levels []int
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if h, ok := n.(*ast.Heading); ok && entering {
			headings, levels = append(headings, h), append(levels, h.Level)
		}
		return ast.WalkContinue, nil
	})
	slices.Sort(levels)
	levels = slices.Compact(levels)
	above := pageLevel
	for _, h := range headings {
		h.Level = min(pageLevel+1+slices.Index(levels, h.Level), above+1, 6)
		above = h.Level
	}
}

// newPolicy names everything that is let through. goldmark leaves out raw HTML and
// addresses with scripts itself; this holds if it ever does not.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "strong", "em", "ul", "ol", "li", "code", "pre", "blockquote", "h3", "h4", "h5", "h6")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,6}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("https", "http", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false) // they would look like pages of the marketplace
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// maxRendered is how many texts are remembered as HTML. A page that many people look at
// would spend most of its time on the same text.
const maxRendered = 128

// rendered has texts as HTML, by text. It is emptied when it is full, which is simpler
// than to know which of them is the oldest.
var rendered = struct {
	mu   sync.Mutex
	html map[string]template.HTML
}{html: make(map[string]template.HTML)}

// HTML is the text as HTML. What cannot be shown is left out.
func HTML(source string) template.HTML {
	rendered.mu.Lock()
	html, ok := rendered.html[source]
	rendered.mu.Unlock()
	if ok {
		return html
	}
	html = render(source)
	rendered.mu.Lock()
	defer rendered.mu.Unlock()
	if len(rendered.html) >= maxRendered {
		clear(rendered.html)
	}
	rendered.html[source] = html
	return html
}

func render(source string) template.HTML {
	var b bytes.Buffer
	if err := converter.Convert([]byte(source), &b); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(source) + "</p>") //nolint:gosec // it is escaped
	}
	return template.HTML(policy.SanitizeBytes(b.Bytes())) //nolint:gosec // the policy lets through what pages may show
}
