package wiretest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// veil replaces volatile values by placeholders.
type veil struct {
	plain *strings.Replacer // values known beforehand
	sorts []sort
	names map[string]string // value to placeholder
	count map[string]int    // number of values per sort
}

// sort is a sort of volatile values.
type sort struct {
	name string
	expr *regexp.Regexp
}

// shortest is the minimum length of a variable's value to be searched for in answers.
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
	// Longer values come first, because one may be part of another; then by name, so that two equal
	// values always get the same placeholder.
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

// hide replaces values in text by placeholders.
func (v *veil) hide(text string) string {
	text = v.plain.Replace(text)
	for _, s := range v.sorts {
		text = s.expr.ReplaceAllStringFunc(text, func(value string) string { return v.placeholder(s.name, value) })
	}
	return text
}

// placeholder returns the placeholder of value, new or existing. Every answer has its own request
// id, so numbers would be useless there.
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
