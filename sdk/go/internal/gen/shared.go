package main

import (
	"fmt"
	"slices"
	"strings"
)

// shape compares the schemas of a document with those of another one. Texts for people do not
// count: each API describes a type for its own readers.
type shape struct {
	doc      document
	requests map[string]bool
}

// shared returns the names of the types that are the same in both documents. A type is the same if
// all types in it are, too.
func shared(doc, with document) (map[string]bool, error) {
	requests, err := doc.requests()
	if err != nil {
		return nil, err
	}
	otherRequests, err := with.requests()
	if err != nil {
		return nil, err
	}
	same := map[string]bool{}
	for _, name := range doc.Components.Schemas.names {
		other := with.Components.Schemas.byName[name]
		if other == nil || !named(doc.Components.Schemas.byName[name]) || name == "Error" {
			continue
		}
		a, err := shape{doc, requests}.reference(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b, err := shape{with, otherRequests}.reference(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		same[name] = a == b
	}
	return same, nil
}

// named reports whether a schema has a type of its own.
func named(s *schema) bool { return s.Type == "object" || len(s.AllOf) > 0 || len(s.Enum) > 0 }

// reference writes the type of a schema of the document. Optional members of a request are
// pointers, so being one is a part of the type.
func (d shape) reference(name string) (string, error) {
	s := d.doc.Components.Schemas.byName[name]
	if s == nil {
		return "", fmt.Errorf("there is no schema %s", name)
	}
	text, err := d.of(s)
	if err != nil || !named(s) {
		return text, err
	}
	return fmt.Sprintf("%s request=%t %s", name, d.requests[name], text), nil
}

// of writes the type of a schema with all its members.
func (d shape) of(s *schema) (string, error) {
	if s.Ref != "" {
		name, err := refName(s.Ref)
		if err != nil {
			return "", err
		}
		return d.reference(name)
	}
	if s.Type == "array" && s.Items != nil {
		item, err := d.of(s.Items)
		return "[]" + item, err
	}
	if s.Type == "string" || len(s.Enum) > 0 || len(s.Const) > 0 {
		g := generator{imports: map[string]bool{}}
		return fmt.Sprintf("%s %q %s", g.stringType(s), s.Enum, s.Const), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s {", s.Type, s.Format)
	for _, part := range s.AllOf {
		text, err := d.of(part)
		if err != nil {
			return "", err
		}
		b.WriteString(text + "; ")
	}
	for _, member := range s.Properties.names {
		text, err := d.of(s.Properties.byName[member])
		if err != nil {
			return "", fmt.Errorf("%s: %w", member, err)
		}
		fmt.Fprintf(&b, "%s required=%t %s; ", member, slices.Contains(s.Required, member), text)
	}
	return b.String() + "}", nil
}

// alias declares a type as that of the partner's package, and so the types of its members.
func (g *generator) alias(name string, s *schema) {
	g.comment("", name, s.Description, "is that of the partner's API.")
	fmt.Fprintf(&g.body, "type %s = claviger.%s\n\n", name, name)
	if len(s.Enum) > 0 {
		fmt.Fprintf(&g.body, "// The words of %s.\nconst (\n", name)
		for _, word := range s.Enum {
			fmt.Fprintf(&g.body, "%s%s = claviger.%s%s\n", name, goName(word), name, goName(word))
		}
		g.body.WriteString(")\n\n")
	}
	for _, part := range append([]*schema{s}, s.AllOf...) {
		for _, member := range part.Properties.names {
			property := part.Properties.byName[member]
			for property.Type == "array" && property.Items != nil {
				property = property.Items
			}
			if property.Type == "object" && len(property.Properties.names) > 0 {
				g.alias(name+goName(member), property)
			}
		}
	}
}
