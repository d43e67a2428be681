package docsite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	tokens "golang.org/x/net/html"

	"claviger/docs"
)

// texts has all texts, for pages and for the search.
type texts struct {
	guides   []guide
	sections []section
	calls    []calls
}

// guide is a guide as its page shows it.
type guide struct {
	Name     string
	Title    string
	Short    string        // the title in the list
	About    string        // its first paragraph
	HTML     template.HTML // without its title
	Contents []section
	source   string
}

// section is a part of a text, from one heading to the next.
type section struct {
	Page    string // title of its page
	Heading string
	URL     string
	level   string // h2 and so on
	text    string
}

// calls are the operations of an API.
type calls struct {
	API
	Operations []operation
}

// operation is one call.
type operation struct {
	ID, Method, Path, Summary string
	About                     template.HTML
	Reference                 string // its location in the reference, as Scalar names it
}

// converter converts our own texts to HTML. They are part of the program, so they may contain HTML;
// guides have it around pictures.
var converter = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{}, 0))),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// links rewrites links between guides to their pages. Files outside of docs/ are not part of the
// program: links to them become text.
type links struct{}

// Transform implements parser.ASTTransformer.
func (links) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var outside []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if l, ok := n.(*ast.Link); ok && entering {
			to := string(l.Destination)
			name, anchor, _ := strings.Cut(to, "#")
			switch {
			case strings.Contains(to, "://") || name == "":
			case strings.HasSuffix(name, ".md") && !strings.Contains(name, "/"):
				l.Destination = []byte(Path + "/" + strings.TrimSuffix(name, ".md"))
				if anchor != "" {
					l.Destination = append(l.Destination, "#"+anchor...)
				}
			default:
				outside = append(outside, l)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, l := range outside {
		parent := l.Parent()
		for c := l.FirstChild(); c != nil; c = l.FirstChild() {
			parent.InsertBefore(parent, l, c)
		}
		parent.RemoveChild(parent, l)
	}
}

// fitting makes wide elements scroll, also by keyboard, and fixes the paths of pictures.
var fitting = strings.NewReplacer(
	"<table>", `<div class="table-box" tabindex="0"><table>`, "</table>", "</table></div>",
	"<th></th>", "<td></td>",
	"<pre><code", `<pre tabindex="0"><code`,
	`src="pictures/`, `loading="lazy" src="`+Path+`/pictures/`, `srcset="pictures/`, `srcset="`+Path+`/pictures/`,
)

func toHTML(source string) string {
	var b bytes.Buffer
	if err := converter.Convert([]byte(source), &b); err != nil {
		panic(err) // a buffer never fails
	}
	return fitting.Replace(b.String())
}

func newTexts(apis []API) texts {
	var l texts
	for _, g := range docs.Guides() {
		page := toHTML(g.Text)
		all := sectionsOf(page, Path+"/"+g.Name)
		_, body, _ := strings.Cut(page, "</h1>")
		//nolint:gosec // a file of the program
		one := guide{Name: g.Name, Title: all[0].Heading, HTML: template.HTML(body), source: g.Text}
		one.Short = strings.ToUpper(g.Name[:1]) + strings.ReplaceAll(g.Name[1:], "-", " ")
		one.About = firstParagraph(page)
		for i := range all {
			all[i].Page = one.Title
			if all[i].level == "h2" {
				one.Contents = append(one.Contents, all[i])
			}
		}
		l.guides = append(l.guides, one)
		l.sections = append(l.sections, all...)
	}
	for _, api := range apis {
		c := callsOf(api)
		l.calls = append(l.calls, c)
		for _, o := range c.Operations {
			l.sections = append(l.sections, section{
				Page: api.Title, Heading: o.Method + " " + o.Path, URL: Path + "/api#" + o.ID,
				text: o.Summary + " " + plain(string(o.About)),
			})
		}
	}
	return l
}

// sectionsOf splits a page at its headings. The first is its title.
func sectionsOf(page, url string) []section {
	var all []section
	var words strings.Builder
	heading := false
	end := func() { // of a heading, or of the text below it
		if len(all) > 0 {
			s := &all[len(all)-1]
			if heading {
				s.Heading = tidy(words.String())
			} else {
				s.text = tidy(words.String())
			}
		}
		words.Reset()
	}
	z := tokens.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		t := z.Token()
		title := len(t.Data) == 2 && t.Data[0] == 'h' && t.Data != "hr"
		switch {
		case kind == tokens.ErrorToken: // the end
			end()
			return all
		case kind == tokens.TextToken:
			words.WriteString(t.Data)
		case kind == tokens.StartTagToken && title:
			end()
			s := section{URL: url, level: t.Data}
			for _, a := range t.Attr {
				if a.Key == "id" && t.Data != "h1" {
					s.URL += "#" + a.Val
				}
			}
			all = append(all, s)
			heading = true
		case kind == tokens.EndTagToken && title:
			end()
			heading = false
		case kind == tokens.EndTagToken:
			words.WriteString(" ")
		}
	}
}

// tidy returns a text as one line.
func tidy(s string) string {
	return strings.NewReplacer(" .", ".", " ,", ",", " ;", ";", " :", ":", " )", ")").Replace(
		strings.Join(strings.Fields(s), " "),
	)
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain returns our HTML as text.
func plain(s string) string { return tidy(tokens.UnescapeString(tags.ReplaceAllString(s, ""))) }

// firstParagraph returns the first paragraph of a page as text.
func firstParagraph(page string) string {
	_, after, _ := strings.Cut(page, "<p>")
	p, _, _ := strings.Cut(after, "</p>")
	return plain(p)
}

// methods are the HTTP methods in the order of the list.
var methods = []string{"get", "post", "put", "patch", "delete"}

// callsOf reads the operations of an API. Its description is part of the program.
func callsOf(api API) calls {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(api.Description, &doc); err != nil {
		panic(fmt.Errorf("read the description of the %s: %w", api.Title, err))
	}
	c := calls{API: api}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range methods {
			var o struct {
				ID          string   `json:"operationId"`
				Summary     string   `json:"summary"`
				Description string   `json:"description"`
				Tags        []string `json:"tags"`
			}
			raw, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				panic(fmt.Errorf("read %s %s of the %s: %w", method, path, api.Title, err))
			}
			in := Path + "/reference#" + slug(api.Title)
			if len(o.Tags) > 0 {
				in += "/tag/" + slug(o.Tags[0])
			}
			c.Operations = append(c.Operations, operation{
				ID: slug(api.Title) + "-" + o.ID, Reference: in + "/" + strings.ToUpper(method) + path,
				Method: strings.ToUpper(method), Path: path, Summary: o.Summary,
				About: template.HTML(toHTML(o.Description)), //nolint:gosec // a file of the program
			})
		}
	}
	return c
}
