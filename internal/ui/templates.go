package ui

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"
)

//go:embed shell/*.html
var shell embed.FS

// New reads the pages of a package: the files that match a pattern of fs.Glob, by default "*.html".
// A page has the name of its file, without folder and extension.
func New(files fs.FS, funcs template.FuncMap, pattern ...string) (*Pages, error) {
	return NewWith(nil, files, funcs, pattern...)
}

// NewWith is New with templates that several packages share. Their names match the same patterns.
func NewWith(shared, files fs.FS, funcs template.FuncMap, pattern ...string) (*Pages, error) {
	if len(pattern) == 0 {
		pattern = []string{"*.html"}
	}
	all := make(template.FuncMap)
	maps.Copy(all, helpers)
	maps.Copy(all, funcs)
	base := template.New("shell").Funcs(all)
	parts, err := glob(shell, []string{"shell/*.html"})
	if err != nil {
		return nil, err
	}
	for _, name := range parts {
		if err := (file{shell, name}).parse(base.New(path.Base(name))); err != nil {
			return nil, err
		}
	}
	var found []file
	for _, from := range []fs.FS{shared, files} {
		names, err := glob(from, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			found = append(found, file{from, name})
		}
	}
	for _, name := range []string{pageFailure, PageConfirm, PageSecrets, PageInvitation, PageTeam} {
		found = append(found, file{shell, "shell/" + name + ".html"})
	}
	p := &Pages{pages: make(map[string]*template.Template)}
	for _, f := range found {
		if err := p.add(base, f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// file is a template file.
type file struct {
	from fs.FS
	name string
}

// isParts reports whether the file has parts of pages instead of a page.
func (f file) isParts() bool { return strings.HasPrefix(path.Base(f.name), "_") }

// glob lists the files that match one of the patterns. A pattern without a file is a bug.
func glob(files fs.FS, patterns []string) ([]string, error) {
	if files == nil {
		return nil, nil
	}
	var names []string
	for _, p := range patterns {
		found, err := fs.Glob(files, p)
		if err != nil {
			return nil, fmt.Errorf("list pages %q: %w", p, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("list pages: no file matches %q", p)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// add reads one file: parts of pages, or a page. All are in one set, so names must be unique: a
// copy of the parts for each page took most of the program's memory.
func (p *Pages) add(base *template.Template, f file) error {
	name := path.Base(f.name)
	if !f.isParts() {
		name = strings.TrimSuffix(name, path.Ext(name))
		if _, ok := p.pages[name]; ok {
			return fmt.Errorf("read page %s: there are two of that name", name)
		}
	}
	before := map[string]*parse.Tree{}
	for _, t := range base.Templates() {
		before[t.Name()] = t.Tree
	}
	t := base.New("file " + name)
	if err := f.parse(t); err != nil {
		return err
	}
	for _, t := range base.Templates() {
		if tree, ok := before[t.Name()]; ok && tree != t.Tree {
			return fmt.Errorf("read %s: there is a template %s already", f.name, t.Name())
		}
	}
	if !f.isParts() {
		p.pages[name] = t
	}
	return nil
}

// namedAsset matches the URL of an asset in a template.
var namedAsset = regexp.MustCompile(`\{\{asset "([^"]*)"\}\}`)

// parse reads the file as a template. It inserts the URLs of assets now: they are the same for
// every page, and html/template would check each of them on every render.
func (f file) parse(t *template.Template) error {
	text, err := fs.ReadFile(f.from, f.name)
	if err == nil {
		text = namedAsset.ReplaceAllFunc(text, func(found []byte) []byte {
			at, unknown := assetURL(string(namedAsset.FindSubmatch(found)[1]))
			err = errors.Join(err, unknown)
			return []byte(at)
		})
	}
	if err == nil {
		_, err = t.Parse(string(text))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	return nil
}
