package ui

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// MaxShapes is the bound of the cache of the frame.
const MaxShapes = maxShapes

// InZone converts the times of a page to a zone.
var InZone = inZone

// FrameByTemplate returns a page with its frame rendered by html/template from the page's own texts.
func (p *Pages) FrameByTemplate(r *http.Request, v View, content string) (string, error) {
	page := p.page(r, v)
	if r.Method == http.MethodGet {
		page.Path = r.URL.RequestURI()
	}
	own := texts{made: func(_ int, text string) string { return text }}
	var b strings.Builder
	show := func(part string, data any) error { return frameTemplates.ExecuteTemplate(&b, part, data) }
	err := show("frame-top", page.top(&own))
	if v.Banner != nil {
		err = errors.Join(err, show("frame-banner", v.Banner))
	}
	if v.Nav != nil {
		err = errors.Join(err, show("frame-nav", v.Nav.data(&own)))
	}
	err = errors.Join(err, show("frame-main", page.main(&own)), show("frame-notices", v))
	b.WriteString("\n" + content)
	err = errors.Join(err, show("frame-foot", page.foot(&own)), show("frame-end", v.DelayedRedirect))
	return b.String(), err
}

// CachedFrames returns the number of shapes in the cache, and all their markup.
func CachedFrames() (int, string) {
	shapes.mu.RLock()
	defer shapes.mu.RUnlock()
	var b strings.Builder
	for shape, pieces := range shapes.known {
		b.WriteString(shape)
		for _, p := range pieces {
			b.WriteString(p.markup)
		}
	}
	return len(shapes.known), b.String()
}

// CutFrame renders a template with a slot for its data, and returns the error of cutting the result.
func CutFrame(markup string) error {
	t, err := template.New("test").Parse(markup)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, slot(7, "")); err != nil {
		return fmt.Errorf("execute: %w", err)
	}
	_, err = cut(b.String())
	return err
}
