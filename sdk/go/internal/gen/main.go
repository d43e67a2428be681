// Command gen writes the Go types of an OpenAPI document: one for each schema of an
// object and of a set of words. It reads the documents that the service serves, and
// knows as much of OpenAPI as they use.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	in := flag.String("in", "", "the OpenAPI document, as JSON")
	out := flag.String("out", "", "the file to write")
	pkg := flag.String("package", "", "its package")
	flag.Parse()
	if err := run(*in, *out, *pkg); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out, pkg string) error {
	text, err := os.ReadFile(in) //nolint:gosec // named by who runs it
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	source, err := generate(doc, pkg)
	if err != nil {
		return err
	}
	return os.WriteFile(out, source, 0o644) //nolint:gosec // source code
}
