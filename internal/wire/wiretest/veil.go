package wiretest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// veil shows what differs from run to run as placeholders.
type veil struct {
	plain *strings.Replacer // values known beforehand
	sorts []sort
	names map[string]string // value to placeholder
	count map[string]int    // how many of a sort there are
}

// sort is one sort of volatile values.
type sort struct {
	name string
	expr *regexp.Regexp
}

// shortest is how long a variable's value must be to be looked for in answers.
const shortest = 8

func newVeil(stage Stage) (*veil, error) {
	v := &veil{names: make(map[string]string), count: make(map[string]int), sorts: []sort{
		{"request-id", regexp.MustCompile(`\breq_[a-z2-7]{26}\b`)},
		{"time", regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)},
		{"uuid", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
		{"secret", regexp.MustCompile(`\bwhsec_[A-Za-z0-9+/]{43}=|\b([a-z]+_)*[0-9a-f]{64}\b`)},
	}}
	names := make([]string, 0, len(stage.Vars))
	for name, value := range stage.Vars {
		if len(value) >= shortest {
			names = append(names, name)
		}
	}
	// Longer values first, since one may be part of another; then by name, so
	// that two of the same value are always shown as the same one.
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(stage.Vars[b]), len(stage.Vars[a])), strings.Compare(a, b))
	})
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, stage.Vars[name], "{{"+name+"}}")
	}
	if stage.URL != "" {
		pairs = append(pairs, stage.URL, "<url>")
	}
	v.plain = strings.NewReplacer(pairs...)
	for name, expr := range stage.Hide {
		e, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("the expression for %s: %w", name, err)
		}
		v.sorts = append(v.sorts, sort{name, e})
	}
	return v, nil
}

// hide puts placeholders into text.
func (v *veil) hide(text string) string {
	text = v.plain.Replace(text)
	for _, s := range v.sorts {
		text = s.expr.ReplaceAllStringFunc(text, func(value string) string { return v.placeholder(s.name, value) })
	}
	return text
}

// placeholder is the one of value, new or already given. Every answer has a
// request id of its own, so numbers would say nothing there.
func (v *veil) placeholder(sort, value string) string {
	if sort == "request-id" {
		return "<request-id>"
	}
	if _, known := v.names[value]; !known {
		v.count[sort]++
		v.names[value] = "<" + sort + "-" + strconv.Itoa(v.count[sort]) + ">"
	}
	return v.names[value]
}
