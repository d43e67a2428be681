// Package docs has the guides of this folder, which pages quote and show, so that a
// sample stands in one place and is tested there.
package docs

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.md pictures/*.png
var files embed.FS

// Guides that pages quote.
var (
	Webhooks = read("webhooks")
	Connect  = read("connect")
)

// first are the guides that readers want first, in order. Others follow by name.
var first = []string{
	"first-hour", "partner", "webhooks", "connect", "commands", "portal",
	"operator", "deploy", "keys", "selling", "stripe", "pages", "delivery", "console", "backup", "upgrade", "runbooks",
	"scaling",
	"security", "versions",
}

// Guide is a document of this folder.
type Guide struct {
	Name string // without .md
	Text string // in Markdown
}

// Guides returns all guides, in the order in which they are listed.
func Guides() []Guide {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		panic(err) // the pattern is right
	}
	place := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	list := make([]Guide, len(names))
	for i, name := range names {
		list[i].Name = strings.TrimSuffix(name, ".md")
		list[i].Text = read(list[i].Name)
	}
	slices.SortStableFunc(list, func(a, b Guide) int { return place(a.Name) - place(b.Name) })
	return list
}

// Picture returns a picture that a guide shows, such as portal-setup-light.png.
func Picture(name string) ([]byte, bool) {
	b, err := files.ReadFile("pictures/" + name)
	return b, err == nil
}

// read returns a guide, which is part of the program.
func read(name string) string {
	b, err := files.ReadFile(name + ".md")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Blocks returns the blocks of code of a guide in a language, such as go or js.
func Blocks(guide, language string) []string {
	var all []string
	for {
		_, after, ok := strings.Cut(guide, "\n```"+language+"\n")
		if !ok {
			return all
		}
		var block string
		block, guide, _ = strings.Cut(after, "\n```\n")
		all = append(all, block)
	}
}
