package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	yaml "github.com/oasdiff/yaml3"
)

// Description checks that openapi.json in the test's folder, which the product serves, equals
// openapi.yaml, which people write. -update rewrites it.
func Description(t *testing.T) {
	t.Helper()
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := toJSON(source)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil { //nolint:gosec // a file of the project
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi.json is not made from openapi.yaml; run this test with -update")
	}
}

// toJSON converts a YAML document to compact JSON, with members in order and aliases expanded.
func toJSON(source []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeNode(&b, doc.Content[0]); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func writeNode(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return writeNode(b, n.Alias)
	case yaml.MappingNode:
		return writeEach(b, '{', '}', n.Content, 2)
	case yaml.SequenceNode:
		return writeEach(b, '[', ']', n.Content, 1)
	case yaml.ScalarNode:
		return writeScalar(b, n)
	case yaml.DocumentNode:
	}
	return fmt.Errorf("line %d: a node of kind %d", n.Line, n.Kind)
}

// writeEach writes nodes between two brackets. In a mapping, every other node is the name of a
// member.
func writeEach(b *bytes.Buffer, open, end byte, nodes []*yaml.Node, step int) error {
	b.WriteByte(open)
	for i, n := range nodes {
		switch {
		case step == 2 && i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := writeNode(b, n); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	var v any
	if n.Tag == "!!timestamp" {
		return fmt.Errorf("line %d: quote the time %s", n.Line, n.Value)
	}
	if err := n.Decode(&v); err != nil {
		return err
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}
