// Package markdown converts partners' product texts to HTML for our pages. It decides which HTML is
// allowed: paragraphs, headings below those of the page, lists, emphasis, code, quotes and links.
// There are no images, no raw HTML, no styles and no scripts.
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

// pageLevel is the level of the page's heading above the text.
const pageLevel = 2

// demote moves headings below those of the page and closes gaps between their levels, so that the
// page's outline stays correct: a first heading "###" is at the first level.
type demote struct{}

// Transform implements parser.ASTTransformer.
func (demote) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var headings []*ast.Heading
	var levels []int
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if h, ok := n.(*ast.Heading); ok && entering {
			headings = append(headings, h)
			levels = append(levels, h.Level)
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

// newPolicy lists everything that is allowed. goldmark itself removes raw HTML and script URLs;
// this policy does not rely on that.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"p",
		"br",
		"hr",
		"strong",
		"em",
		"ul",
		"ol",
		"li",
		"code",
		"pre",
		"blockquote",
		"h3",
		"h4",
		"h5",
		"h6",
	)
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,6}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("https", "http", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false) // they would look like pages of the marketplace
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// maxRendered is the size of the cache. A popular page would spend most of its time on the same
// text.
const maxRendered = 128

// rendered caches HTML by source text. It is emptied when full, which is simpler than tracking the
// oldest entry.
var rendered = struct {
	mu   sync.Mutex
	html map[string]template.HTML
}{html: make(map[string]template.HTML)}

// HTML returns the text as HTML, without disallowed parts.
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
	return template.HTML(policy.SanitizeBytes(b.Bytes())) //nolint:gosec // sanitized by the policy
}
