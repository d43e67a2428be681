package ui

import (
	"html/template"
	"strconv"
)

// The frame is what stands around the content of every page. It is written by hand, because
// html/template took longer for it than the database for a list; testdata/oracle/frame.html
// is the same for html/template, and a test holds the two against each other.

// writeHead writes the page up to its content.
func (p *Page) writeHead(m *markup) {
	m.raw("<!doctype html>\n<html lang=\"en\"")
	if p.Path != "" {
		m.attribute("data-zone", p.Times.Zone)
	}
	m.raw(`>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>`)
	if p.Title != "" {
		m.text(p.Title)
		m.raw(" · ")
	}
	m.text(p.Brand)
	m.raw("</title>\n<meta name=\"color-scheme\" content=\"light dark\">")
	if p.NoIndex {
		m.raw("\n<meta name=\"robots\" content=\"noindex\">")
	}
	if p.Refresh != 0 {
		m.raw("\n<noscript><meta http-equiv=\"refresh\"")
		m.attribute("content", strconv.Itoa(p.Refresh))
		m.raw("></noscript>")
	}
	if p.Social != nil {
		p.writeSocial(m)
	}
	m.raw(frameStyle)
	if at := p.Imprint.Accent.path; at != "" {
		m.raw("\n<link rel=\"stylesheet\"")
		m.href(at)
		m.raw(">")
	}
	if p.Nav != nil {
		m.raw(frameHTMX)
	}
	m.raw(frameScript)
	p.writeTop(m)
	if p.Banner != nil {
		p.Banner.write(m)
	}
	if p.Nav != nil {
		p.Nav.write(m)
	}
	m.raw("\n<main id=\"main\" tabindex=\"-1\"")
	if p.Wide {
		m.raw(` class="wide"`)
	}
	m.raw(">")
	m.notice(`bad" role="alert`, p.Problem)
	m.notice(`good" role="status`, p.Notice)
	m.raw("\n")
}

// What the head of every page names.
var (
	frameStyle = "\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"" + asset("favicon.svg") + "\">\n<link rel=\"stylesheet\" href=\"" + asset("app.css") + `">`
	frameHTMX  = `
<meta name="htmx-config" content='{"extensions": "sse", "history": "reload", "includeIndicatorCSS": false, "morphIgnore": ["data-htmx-powered", "open"], "sse": {"reconnectMaxDelay": 30000}}'>
<script src="` + asset("htmx-sse.js") + `" defer></script>`
	frameScript = "\n<script src=\"" + asset("app.js") + `" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
  <div class="top-in">
    <a class="brand"`
	// htmx comes last and is not deferred: it then reads the page when all scripts have run.
	// A deferred one reads it at once, and where another script came later than that, nobody
	// opened the stream.
	frameLast = "\n<script src=\"" + asset("htmx.js") + `"></script>`
	frameLogo = `><img src="` + asset("logo.svg") + `" alt="" width="32" height="32"><span>`
)

// writeTop writes the rest of the header.
func (p *Page) writeTop(m *markup) {
	m.href(p.Home)
	p.writeLogo(m)
	if len(p.Menu) > 0 {
		m.raw("\n    <nav class=\"menu\" aria-label=\"Main\">\n      <ul>")
		p.writeMenu(m)
		m.raw("\n      </ul>\n    </nav>")
	}
	if p.Person != "" {
		m.raw("\n    <div class=\"person\">\n      ")
		p.writePerson(m)
		m.raw("\n    </div>\n    <details class=\"top-small\">\n      <summary>Menu</summary>\n      <nav aria-label=\"Main\">\n        <ul>")
		p.writeMenu(m)
		m.raw("\n        </ul>\n        ")
		p.writePerson(m)
		m.raw("\n      </nav>\n    </details>")
	}
	m.raw("\n  </div>\n</header>")
}

func (p *Page) writeMenu(m *markup) {
	for _, item := range p.Menu {
		m.raw("\n        ")
		m.item(item)
	}
}

// writePerson writes who is signed in, and the button that ends that.
func (p *Page) writePerson(m *markup) {
	m.raw("<span class=\"who\"><span class=\"sr\">Signed in as </span>")
	m.text(p.Person)
	m.raw("</span>\n      <form method=\"post\"")
	m.address("action", p.SignOut)
	m.raw("><button class=\"button quiet\" type=\"submit\">Sign out</button></form>")
}

func (b *Banner) write(m *markup) {
	m.raw("\n<aside class=\"as\" aria-label=\"How you are here\">\n  <p>")
	m.text(b.Text)
	m.raw(" Until ")
	m.time(b.Until, "second")
	m.raw(".</p>")
	if b.URL != "" {
		m.raw("\n  <a class=\"button secondary\"")
		m.href(b.URL)
		m.raw(">")
		m.text(b.Label)
		m.raw("</a>")
	}
	m.raw("\n  <form method=\"post\"")
	m.address("action", b.Leave)
	m.raw("><button class=\"button secondary\" type=\"submit\">Leave</button></form>\n</aside>")
}

func (n *Nav) write(m *markup) {
	m.raw("\n<div class=\"area\">\n<aside class=\"side\">\n  <p class=\"side-title\">")
	m.text(n.Title)
	m.raw("</p>")
	if n.Search != "" {
		m.raw("\n  <form class=\"side-search\" method=\"get\"")
		m.address("action", n.Search)
		m.raw(` role="search">
    <label class="sr" for="side-search">Search everything</label>
    <input type="search" name="q" id="side-search" aria-keyshortcuts="/" placeholder="Search ( / )" maxlength="255" autocomplete="off">
  </form>`)
	}
	m.raw("\n  <nav class=\"side-nav\"")
	m.attribute("aria-label", n.Title)
	m.raw(">")
	from := len(m.b)
	n.writeList(m)
	to := len(m.b)
	m.raw("</nav>\n  <details class=\"side-small\">\n    <summary><span>")
	m.text(or(n.Current(), "Pages"))
	m.raw("</span></summary>\n    <nav")
	m.attribute("aria-label", n.Title)
	m.raw(">")
	m.b = append(m.b, m.b[from:to]...) // the same list
	m.raw("</nav>\n  </details>\n</aside>")
}

// writeList writes the list of the pages, group by group.
func (n *Nav) writeList(m *markup) {
	for _, g := range n.Groups() {
		if g.Label != "" {
			m.raw("\n<p class=\"side-group\" aria-hidden=\"true\">")
			m.text(g.Label)
			m.raw("</p>")
		}
		m.raw("\n<ul")
		if g.Label != "" {
			m.attribute("aria-label", g.Label)
		}
		m.raw(">")
		for _, item := range g.Items {
			m.raw("\n  ")
			m.item(item)
		}
		m.raw("\n</ul>")
	}
}

// writeFoot writes what comes after the content, up to the end of a page or, if it
// redirects, to where it says where to: the browser obeys that at once.
func (p *Page) writeFoot(m *markup) {
	if p.Stream != "" {
		m.raw("\n<div id=\"stream\"")
		m.attribute("hx-sse:connect", p.Stream)
		m.raw(` hx-trigger="visible"></div>
<div id="stale" class="notice calm" hidden><p>A lot has happened since this page was loaded. <a href="">Load it again</a></p></div>`)
	}
	m.raw("\n</main>")
	if p.Nav != nil {
		m.raw("\n</div>")
	}
	m.raw("\n<div id=\"status\" class=\"status\" role=\"status\"></div>\n<footer class=\"foot\">\n  <div class=\"foot-in\">")
	if p.Nav != nil {
		m.raw("\n    <p>")
		m.text(p.Brand)
		m.raw("</p>")
		p.writeTimes(m)
	} else {
		p.writeFooter(m)
	}
	m.raw("\n  </div>\n</footer>")
	if p.Nav != nil {
		m.raw(frameKeys, frameLast)
	}
}

func (p *Page) writeTimes(m *markup) {
	m.raw("\n    <p><a href=\"#key-help\" aria-keyshortcuts=\"?\">Keyboard keys</a></p>\n    <div class=\"times\">\n      <p>Times are in ")
	m.text(p.Times.Zone)
	m.raw(".</p>")
	if p.Times.Switch != "" && p.Path != "" {
		m.raw("\n      <form method=\"post\" action=\"/times\"><input type=\"hidden\" name=\"zone\"")
		m.attribute("value", p.Times.Switch)
		m.raw(`><input type="hidden" name="next"`)
		m.attribute("value", p.Path)
		m.raw(`><button class="button quiet" type="submit">`)
		m.text(p.Times.Label)
		m.raw("</button></form>")
	}
	m.raw("\n    </div>")
}

// frameKeys is the help about the keyboard.
const frameKeys = `
<dialog id="key-help" aria-labelledby="key-help-title">
  <h2 id="key-help-title">Keyboard keys</h2>
  <dl class="facts">
    <dt><kbd>/</kbd></dt><dd>Search, or filter the list</dd>
    <dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>Next and previous row of the list</dd>
    <dt><kbd>Enter</kbd></dt><dd>Open the row</dd>
    <dt><kbd>Esc</kbd></dt><dd>Leave a field, close this help</dd>
    <dt><kbd>?</kbd></dt><dd>Show this help</dd>
  </dl>
  <p class="muted">The keys need scripts, and do nothing while you type into a field.</p>
  <p class="actions"><a class="button secondary" href="#main">Close</a></p>
</dialog>`

// refresh says where the browser goes on to. html/template knows which URLs are safe.
var refresh = template.Must(template.New("refresh").Parse("\n<meta http-equiv=\"refresh\" content=\"0; url={{.}}\">"))

// writeEnd writes the end of a page, with where the browser goes on to.
func (p *Page) writeEnd(m *markup) error {
	if p.DelayedRedirect != nil {
		if err := refresh.Execute(m, p.DelayedRedirect.To); err != nil {
			return err
		}
	}
	m.raw("\n</body>\n</html>\n")
	return nil
}
