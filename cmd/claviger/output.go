package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// printTable writes rows for whoever reads standard output: a framed table for
// a person, tab-separated lines without a heading's frame for a program.
func printTable(w io.Writer, headers []string, rows [][]string) error {
	if isTerminal(os.Stdout) {
		cell := lipgloss.NewStyle().Padding(0, 1)
		t := table.New().Headers(headers...).Rows(rows...).
			StyleFunc(func(row, _ int) lipgloss.Style {
				if row == table.HeaderRow {
					return cell.Bold(true)
				}
				return cell
			})
		_, err := lipgloss.Fprintln(w, t)
		return err
	}
	var b strings.Builder
	for _, row := range append([][]string{headers}, rows...) {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
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
