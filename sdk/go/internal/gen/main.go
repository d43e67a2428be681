// Command gen writes the Go types of an OpenAPI document: one for each object schema and each set
// of words. If the file ends in .ts, it writes the types of the TypeScript client, which also have
// the input and the answer of each operation. It reads the documents that the service serves, and
// supports only the parts of OpenAPI that they use. With -shared, the types that the partner's
// document has, too, come from the partner's file.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	in := flag.String("in", "", "the OpenAPI document, as JSON")
	out := flag.String("out", "", "the file to write, in Go or, if it ends in .ts, in TypeScript")
	partner := flag.String("shared", "", "the partner's OpenAPI document, if its types are to be shared")
	pkg := flag.String("package", "", "its package, in Go")
	flag.Parse()
	if err := run(*in, *out, *pkg, *partner); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out, pkg, partner string) error {
	source, err := write(in, out, pkg, partner)
	if err != nil {
		return err
	}
	return os.WriteFile(out, source, 0o644) //nolint:gosec // source code
}

// write returns the source code of a file.
func write(in, out, pkg, partner string) ([]byte, error) {
	doc, err := read(in)
	if err != nil {
		return nil, err
	}
	var same map[string]bool
	if partner != "" {
		other, err := read(partner)
		if err != nil {
			return nil, err
		}
		if same, err = shared(doc, other); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(out, ".ts") {
		return typescript(doc, same)
	}
	return generate(doc, pkg, same)
}

func read(file string) (doc document, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // named by the user
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return document{}, fmt.Errorf("read the document: %w", err)
	}
	return doc, nil
}
