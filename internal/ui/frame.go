package ui

import (
	"html/template"
	"strconv"
	"strings"
)

// whole writes a page, and its end into a separate buffer: a redirect is in the end, and the
// browser obeys it when it reads it.
func whole(m, end *markup, t *template.Template, page *Page) error {
	if err := page.writeHead(m); err != nil {
		return err
	}
	if err := t.Execute(m, *page); err != nil {
		return err
	}
	if err := m.frame("frame-foot", page.foot); err != nil {
		return err
	}
	return frameTemplates.ExecuteTemplate(end, "frame-end", page.DelayedRedirect)
}

// writeHead writes the page up to its content. Rare parts are rendered for each request.
func (p *Page) writeHead(m *markup) error {
	if err := m.frame("frame-top", p.top); err != nil {
		return err
	}
	if p.Banner != nil {
		if err := frameTemplates.ExecuteTemplate(m, "frame-banner", p.Banner); err != nil {
			return err
		}
	}
	if p.Nav != nil {
		if err := m.frame("frame-nav", p.Nav.data); err != nil {
			return err
		}
	}
	if err := m.frame("frame-main", p.main); err != nil {
		return err
	}
	if p.Problem != "" || p.Notice != "" {
		if err := frameTemplates.ExecuteTemplate(m, "frame-notices", p.View); err != nil {
			return err
		}
	}
	m.raw("\n")
	return nil
}

// topData is the data of the template frame-top.
type topData struct {
	Zone, Title, Brand string
	NoIndex, HTMX      bool
	Refresh            string
	Social             *socialData
	Accent, Home       string
	Logo               *logoData
	Menu               []Item
	Person, SignOut    string
}

type socialData struct{ Title, Description, URL, Image string }

type logoData struct {
	Path, Width string
	Wide        bool
}

func (p *Page) top(t *texts) any {
	d := topData{
		Title: t.text(p.Title), Brand: t.text(p.Brand), NoIndex: t.flag(p.NoIndex), HTMX: t.flag(p.Nav != nil),
		Accent: t.text(p.Imprint.Accent.path), Home: t.text(p.Home), Menu: t.items(p.Menu),
		Person: t.text(p.Person), SignOut: t.text(p.SignOut),
	}
	if t.flag(p.Path != "") {
		d.Zone = t.text(p.Times.Zone)
	}
	if t.flag(p.Refresh != 0) {
		d.Refresh = t.text(strconv.Itoa(p.Refresh))
	}
	if t.flag(p.Social != nil) {
		d.Social = p.Social.data(t, p.PublicURL)
	}
	if logo := p.Imprint.Logo; t.flag(logo.path != "") {
		d.Logo = &logoData{
			Path: t.text(logo.path), Width: t.text(strconv.Itoa(logo.width)), Wide: t.flag(logo.Wide()),
		}
	}
	return d
}

// data returns the metadata. URLs are absolute, as the programs that read them require.
func (s *Social) data(t *texts, publicURL string) *socialData {
	site := strings.TrimSuffix(publicURL, "/")
	d := &socialData{Title: t.text(s.Title), Description: t.text(s.Description), URL: t.text(site + s.Path)}
	if t.flag(s.Image != "") {
		d.Image = t.text(site + s.Image)
	}
	return d
}

// navData is the data of the template frame-nav.
type navData struct {
	Title, Search, Current string
	Groups                 []Group
}

func (n *Nav) data(t *texts) any {
	d := navData{
		Title: t.text(n.Title), Search: t.text(n.Search), Current: t.text(or(n.Current(), "Pages")),
	}
	for _, g := range n.Groups() {
		t.flag(true)
		g = Group{Label: t.text(g.Label), Items: t.items(g.Items)}
		if t.made != nil {
			d.Groups = append(d.Groups, g)
		}
	}
	t.flag(false)
	return d
}

// mainData is the data of the template frame-main.
type mainData struct{ Wide bool }

func (p *Page) main(t *texts) any { return mainData{Wide: t.flag(p.Wide)} }

// footData is the data of the template frame-foot.
type footData struct {
	Stream, Brand, Zone string
	Area                bool
	Switch              *switchData
	Seller              string
	Links               []Item
}

// switchData is the switch between zones.
type switchData struct{ Value, Path, Label string }

func (p *Page) foot(t *texts) any {
	d := footData{Stream: t.text(p.Stream), Area: t.flag(p.Nav != nil)}
	if !d.Area {
		d.Seller = t.text(p.Seller())
		d.Links = t.items(p.Footer())
		return d
	}
	d.Brand = t.text(p.Brand)
	d.Zone = t.text(p.Times.Zone)
	if t.flag(p.Times.Switch != "" && p.Path != "") {
		d.Switch = &switchData{
			Value: t.text(p.Times.Switch), Path: t.text(p.Path), Label: t.text(p.Times.Label),
		}
	}
	return d
}
