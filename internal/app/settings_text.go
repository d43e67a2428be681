package app

import (
	"net/url"
	"strings"

	"claviger/internal/mail"
)

// Show returns a value for printing, with secrets masked. In the address of a database or a mail
// server only the password is masked.
func (s Setting) Show(value string) string {
	if !s.Secret || value == "" {
		return value
	}
	switch s.Name {
	case "db", "db-direct-url":
	case "smtp-url":
		return mail.Show(value)
	default:
		return "********"
	}
	if !(Config{DB: value}).Postgres() {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "********"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// Markdown returns the table of settings for docs/operator.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| setting | variable | default | default in `dev` | what it does |\n|---|---|---|---|---|\n")
	for _, s := range Settings(Serve) {
		b.WriteString("| `" + s.Name + "` | `" + s.Variable() + "` | " + code(s.Default) + " | ")
		if s.dev != "" {
			b.WriteString(code(strings.TrimPrefix(s.dev, "-")))
		}
		b.WriteString(" | " + strings.ReplaceAll(s.Help, "|", `\|`) + " |\n")
	}
	return b.String()
}

// code formats a value in the table; an empty one is a word, not empty quotes.
func code(value string) string {
	if value == "" {
		return "none"
	}
	return "`" + value + "`"
}
