package main

import "testing"

func TestTable(t *testing.T) {
	headers, rows := []string{"id", "name"}, [][]string{{"1", "checkout"}, {"1000", "ä"}}
	for _, test := range []struct {
		name    string
		aligned bool
		want    string
	}{
		{"for a program", false, "id\tname\n1\tcheckout\n1000\tä\n"},
		{"for a person", true, "id    name\n1     checkout\n1000  ä\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := tableText(headers, rows, test.aligned); got != test.want {
				t.Errorf("wrote %q, want %q", got, test.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"short", "one two", "one two"},
		{"long", "one two three four", "one two\nthree four"},
		{"a word that is too long", "one 0123456789012 two", "one\n0123456789012\ntwo"},
		{"paragraphs", "one two three\n\nfour five six", "one two\nthree\n\nfour five\nsix"},
		{"indented", "see:\n    one two three", "see:\n    one two three"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := wrap(test.text, 10); got != test.want {
				t.Errorf("wrapped as %q, want %q", got, test.want)
			}
		})
	}
}
