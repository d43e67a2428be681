// Command gen writes the Go types of an OpenAPI document: one for each schema of an
// object and of a set of words; or, where the file ends in .ts, those of the client in
// TypeScript, which has the input and the answer of each operation too. It reads the documents that the service serves, and
// knows as much of OpenAPI as they use.
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
	pkg := flag.String("package", "", "its package, in Go")
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
	source, err := write(doc, out, pkg)
	if err != nil {
		return err
	}
	return os.WriteFile(out, source, 0o644) //nolint:gosec // source code
}

// write makes the source code of a file.
func write(doc document, out, pkg string) ([]byte, error) {
	if strings.HasSuffix(out, ".ts") {
		return typescript(doc)
	}
	return generate(doc, pkg)
}
