package ui

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Curl is the API call equivalent to a page or a form, for the part "curl". It is written for a
// shell: everything is quoted, and the key is a variable, never a value.
type Curl struct {
	What   string // label, such as "List these deliveries"
	Method string // "" is GET
	URL    string // without parameters
	Query  []Param
	Secret string // shell variable with the bearer token; "" is API_KEY
	Form   []Param
	JSON   string // JSON body, if any
}

// Param is a parameter of a call. Value is a string, a number, a bool, or a time, which is written
// in UTC. A parameter without a value is omitted.
type Param struct {
	Name  string
	Value any
}

// sameByAPI is the default label of a call.
const sameByAPI = "The same by API"

// Code returns the call as a text to copy.
func (c Curl) Code() Code { return Code{Label: or(c.What, sameByAPI), Text: c.String()} }

// String returns the command.
func (c Curl) String() string {
	parts := []string{"curl " + ShellQuote(c.address())}
	if c.Method != "" && c.Method != "GET" {
		parts[0] = "curl -X " + c.Method + " " + ShellQuote(c.address())
	}
	parts = append(parts, `-H "Authorization: Bearer $`+or(c.Secret, "API_KEY")+`"`)
	for _, p := range c.Form {
		if text := p.text(); text != "" {
			parts = append(parts, "--data-urlencode "+ShellQuote(p.Name+"="+text))
		}
	}
	if c.JSON != "" {
		parts = append(parts, "-H 'Content-Type: application/json'", "-d "+ShellQuote(c.JSON))
	}
	return strings.Join(parts, " \\\n  ")
}

func (c Curl) address() string {
	var query []string
	for _, p := range c.Query {
		if text := p.text(); text != "" {
			query = append(query, url.QueryEscape(p.Name)+"="+url.QueryEscape(text))
		}
	}
	if len(query) == 0 {
		return c.URL
	}
	return c.URL + "?" + strings.Join(query, "&")
}

// text returns the value as the API expects it, "" if there is none.
func (p Param) text() string {
	switch v := p.Value.(type) {
	case nil:
		return ""
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(p.Value)
}

// ShellQuote quotes a text so that a shell reads it as one word and runs nothing in it.
func ShellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
