package mail_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
)

func TestLetter(t *testing.T) {
	l := mail.Content{
		Title: "Größe & <b>", Hello: "Hello Ann,",
		Opening: []string{"This is a paragraph that is longer than a line of a mail should be, so it is broken.", "Short."},
		Facts:   []mail.Fact{{"Größe", "12"}, {"Longer name", "a value that is so long that it does not fit into what is left of its line"}},
		Ask:     "What to do", Steps: []string{"First.", "Then look here: https://example.com/a/very/long/address/that/nobody/may/ever/break/into/two/lines"},
		Closing: []string{"That is all."}, Links: []mail.Link{{"Records", "https://example.com/?a=1&b=<2>"}, {"Bad", "javascript:alert(1)"}},
		Foot: "You know why.",
	}
	text, html := l.Render()
	want := `Hello Ann,

This is a paragraph that is longer than a line of a mail should be, so
it is broken.

Short.

  Größe:       12
  Longer name: a value that is so long that it does not fit into what is
               left of its line

What to do
1. First.
2. Then look here:
   https://example.com/a/very/long/address/that/nobody/may/ever/break/into/two/lines

That is all.

Records:
https://example.com/?a=1&b=<2>

Bad:
javascript:alert(1)

` + "-- " + `
You know why.
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for _, part := range []string{
		`<title>Größe &amp; &lt;b&gt;</title>`, `<html lang="en">`, `<h1 `, `<th scope="row"`, `<ol>`,
		`href="https://example.com/?a=1&amp;b=%3c2%3e"`, `href="#ZgotmplZ"`,
	} {
		if !strings.Contains(html, part) {
			t.Errorf("the HTML lacks %s:\n%s", part, html)
		}
	}
	for _, part := range []string{"<img", "<script", "<link", "src=", "url(", "@import", "<b>"} {
		if strings.Contains(html, part) {
			t.Errorf("the HTML has %s:\n%s", part, html)
		}
	}
}

// TestLook: emails have the logo and the accent of the marketplace.
func TestLook(t *testing.T) {
	c := mail.Content{Title: "Hello", Button: mail.Link{Name: "Open", URL: "https://acme.example/"}}
	if _, html := c.Render(); !strings.Contains(html, "background-color: #0c5c49;") {
		t.Errorf("without a look:\n%s", html)
	}
	o := &mail.Outbox{Look: mail.Look{Name: "Acme", Logo: "https://acme.example/brand/1/logo.png", Accent: "#1b4173"}}
	if links := o.Contact("Acme"); len(links) != 0 {
		t.Errorf("without an address, readers ask at %v", links)
	}
	o.Look.SupportURL = "https://acme.example/help"
	c.Links = o.Contact("Acme")
	_, html := o.Render(c)
	for _, part := range []string{`<img src="https://acme.example/brand/1/logo.png" alt="Acme"`, "background-color: #1b4173; color: #ffffff;", `<a href="https://acme.example/help" style="color: inherit">Contact Acme</a>`} {
		if !strings.Contains(html, part) {
			t.Errorf("the HTML lacks %s:\n%s", part, html)
		}
	}
}

func TestLetterOfFewWords(t *testing.T) {
	text, html := mail.Content{Title: "Hello", Opening: []string{"Good day."}}.Render()
	if text != "Good day.\n" {
		t.Errorf("text %q", text)
	}
	for _, part := range []string{"<table", "<ol", "<ul", "<h2", "<small"} {
		if strings.Contains(html, part) {
			t.Errorf("the HTML has an empty %s:\n%s", part, html)
		}
	}
}
