package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document is the part of an OpenAPI document that determines types.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas       ordered                    `json:"schemas"`
		Parameters    map[string]json.RawMessage `json:"parameters"`
		Responses     map[string]json.RawMessage `json:"responses"`
		RequestBodies map[string]json.RawMessage `json:"requestBodies"`
	} `json:"components"`
}

// ordered is a JSON object of schemas, in the order of the document.
type ordered struct {
	names  []string
	byName map[string]*schema
}

// UnmarshalJSON preserves the order of the members.
func (o *ordered) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &o.byName); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
		o.names = append(o.names, name.(string))
	}
	return nil
}

// schema is a schema of the document.
type schema struct {
	Ref         string          `json:"$ref"`
	Type        string          `json:"type"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	Const       json.RawMessage `json:"const"`
	Required    []string        `json:"required"`
	Properties  ordered         `json:"properties"`
	Items       *schema         `json:"items"`
	AllOf       []*schema       `json:"allOf"`
}

// refName returns the name of the schema that a reference points to.
func refName(ref string) (string, error) {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok {
		return "", fmt.Errorf("the reference %s is not one to a schema", ref)
	}
	return name, nil
}

// requests returns the names of schemas that are request bodies.
func (d document) requests() (map[string]bool, error) {
	found := map[string]bool{}
	for _, operations := range d.Paths {
		for method, text := range operations {
			if method == "parameters" {
				continue
			}
			var op struct {
				RequestBody struct {
					Content map[string]struct {
						Schema schema `json:"schema"`
					} `json:"content"`
				} `json:"requestBody"`
			}
			if err := json.Unmarshal(text, &op); err != nil {
				return nil, err
			}
			for _, c := range op.RequestBody.Content {
				if c.Schema.Ref == "" {
					continue
				}
				name, err := refName(c.Schema.Ref)
				if err != nil {
					return nil, err
				}
				found[name] = true
			}
		}
	}
	return found, nil
}
