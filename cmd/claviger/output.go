package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// printTable writes rows for whoever reads standard output: aligned columns for
// a person, tab-separated lines for a program.
func printTable(w io.Writer, headers []string, rows [][]string) error {
	return writeTable(w, headers, rows, isTerminal(os.Stdout))
}

// writeTable writes a heading and rows, their columns aligned or not.
func writeTable(w io.Writer, headers []string, rows [][]string, aligned bool) error {
	lines := make([]string, 0, len(rows)+1)
	for _, row := range append([][]string{headers}, rows...) {
		lines = append(lines, strings.Join(row, "\t")+"\n")
	}
	text := strings.Join(lines, "")
	if !aligned {
		_, err := io.WriteString(w, text)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(t, text); err != nil {
		return err
	}
	return t.Flush()
}

// printJSON writes v as one line of JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
