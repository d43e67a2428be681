package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"claviger/internal/jsontext"
)

// restoration undoes a common change of a body before verification.
type restoration struct {
	changed string // description of the change
	undo    func(body string) (string, bool)
}

// restorations are ordered by how little they undo.
var restorations = []restoration{
	{"a line break was added at the end", func(s string) (string, bool) { return strings.TrimRight(s, "\r\n"), true }},
	{"a byte order mark or white space was added around it", func(s string) (string, bool) {
		return strings.TrimSpace(strings.TrimPrefix(s, "\ufeff")), true
	}},
	{"its text was read as Latin-1 instead of UTF-8", latin1},
	{"it was parsed and written again: spaces or line breaks were added", func(s string) (string, bool) {
		var b bytes.Buffer
		err := json.Compact(&b, []byte(s))
		return b.String(), err == nil
	}},
	{
		"it was parsed and written again: characters were escaped that we do not escape (such as / & < > é)",
		func(s string) (string, bool) {
			out, err := rewritten([]byte(s), nil)
			return string(out), err == nil
		},
	},
	{"it was parsed and written again: its members have another order", func(s string) (string, bool) {
		out, err := rewritten([]byte(s), memberOrder)
		return string(out), err == nil
	}},
}

// memberOrder is the order of the members in Body.
var memberOrder = []string{
	"license_key", "event", "license_status", "event_timestamp", "event_id", "tier", "reason", "test", "created_at",
	"extra", "previous_tier", "partner_plan_name",
}

// latin1 undoes reading UTF-8 as Latin-1 and writing it as UTF-8.
func latin1(s string) (string, bool) {
	raw := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return "", false
		}
		raw = append(raw, byte(r))
	}
	return string(raw), utf8.Valid(raw)
}

// rewritten returns a JSON object as Body would write it, with its members in the given order; nil:
// in their own.
func rewritten(object []byte, order []string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	out, err := appendValue(nil, d, order, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return out, nil
}

// maxDepth is the maximum nesting of a body; ours has one level.
const maxDepth = 20

// appendValue writes the next value of the decoder compactly, with our escapes.
func appendValue(b []byte, d *json.Decoder, order []string, depth int) ([]byte, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case depth > maxDepth:
		return nil, errors.New("it is nested too deeply")
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return appendArray(b, d, depth+1)
		}
		return appendObject(b, d, order, depth+1)
	case string:
		return jsontext.AppendString(b, v), nil
	case nil:
		return append(b, "null"...), nil
	default:
		return fmt.Append(b, v), nil // a number as written, or true or false
	}
}

func appendArray(b []byte, d *json.Decoder, depth int) ([]byte, error) {
	b = append(b, '[')
	for n := 0; d.More(); n++ {
		if n > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, d, nil, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return append(b, ']'), err
}

func appendObject(b []byte, d *json.Decoder, order []string, depth int) ([]byte, error) {
	var names []string
	values := map[string][]byte{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // the decoder allows only strings here
		value, err := appendValue(nil, d, nil, depth)
		if err != nil {
			return nil, err
		}
		if values[text] == nil {
			names = append(names, text)
		}
		values[text] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return appendMembers(b, names, values, order), nil
}

// appendMembers writes the members in order first, then the others.
func appendMembers(b []byte, names []string, values map[string][]byte, order []string) []byte {
	sorted := make([]string, 0, len(names))
	for _, name := range order {
		if values[name] != nil {
			sorted = append(sorted, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(order, name) {
			sorted = append(sorted, name)
		}
	}
	b = append(b, '{')
	for i, name := range sorted {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(jsontext.AppendString(b, name), ':'), values[name]...)
	}
	return append(b, '}')
}
