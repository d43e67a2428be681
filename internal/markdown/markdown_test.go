package markdown_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"claviger/internal/markdown"
)

func TestHTML(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"paragraphs", "One *line*.\n\nTwo **lines**.", "<p>One <em>line</em>.</p>\n<p>Two <strong>lines</strong>.</p>\n"},
		{"headings go below the page's", "# Tides\n\n##### Deep", "<h3>Tides</h3>\n<h4>Deep</h4>\n"},
		{"the first may be the deepest", "### Deep\n\n# Tides\n\n> ###### Deeper", "<h3>Deep</h3>\n<h3>Tides</h3>\n<blockquote>\n<h4>Deeper</h4>\n</blockquote>\n"},
		{"lists", "- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		{"a link", "[docs](https://tide.example/docs)", "<p><a href=\"https://tide.example/docs\" rel=\"nofollow noreferrer\">docs</a></p>\n"},
		{"a script", "a <script>alert(1)</script> b", "<p>a alert(1) b</p>\n"},
		{"a block of HTML", "<div onclick=alert(1)>x</div>", "\n"},
		{"an address with a script", "[x](javascript:alert(1))", "<p>x</p>\n"},
		{"an address of ours", "[x](/sign-out)", "<p>x</p>\n"},
		{"an image", "![x](https://tracker.example/x.png)", "<p></p>\n"},
		{"text that looks like HTML", "a < b & c", "<p>a &lt; b &amp; c</p>\n"},
		{"code", "`<b>`", "<p><code>&lt;b&gt;</code></p>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(markdown.HTML(tt.source)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestHTMLOfManyTexts: each of many texts has its own HTML, concurrently and repeatedly.
func TestHTMLOfManyTexts(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 500 {
				text := strconv.Itoa(n % 300)
				if got, want := string(markdown.HTML(text)), "<p>"+text+"</p>\n"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzHTML: for any text, the output has only the elements and attributes named above.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{"# a", "<script>", "[a](javascript:b)", "<a href=x onclick=y>", "```\n</code><img src=x>\n```", "<svg/onload=x>", "1. a\n2. b"} {
		f.Add(seed)
	}
	allowed := " p br hr strong em ul ol li code pre blockquote h3 h4 h5 h6 a "
	f.Fuzz(func(t *testing.T, source string) {
		z := html.NewTokenizer(strings.NewReader(string(markdown.HTML(source))))
		for z.Next() != html.ErrorToken {
			token := z.Token()
			switch token.Type {
			case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%q gives %v", source, token)
			default:
				continue
			}
			if !strings.Contains(allowed, " "+token.Data+" ") {
				t.Fatalf("%q gives <%s>", source, token.Data)
			}
			for _, a := range token.Attr {
				at, _, _ := strings.Cut(a.Val, ":")
				switch {
				case a.Key == "rel", a.Key == "start":
				case a.Key == "href" && (at == "https" || at == "http" || at == "mailto"):
				default:
					t.Fatalf("%q gives %s=%q", source, a.Key, a.Val)
				}
			}
		}
	})
}
