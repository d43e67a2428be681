package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
)

// answer is what a command prints.
type answer struct {
	json any    // for --json, alone
	note string // for people, on standard error, before out
	out  string // for people and scripts, on standard output
	then string // for people, on standard error, after out
}

// print writes the answer; texts end with a line break.
func (a answer) print(cmd *cobra.Command, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), a.json)
	}
	for _, part := range []struct {
		to   io.Writer
		text string
	}{{cmd.ErrOrStderr(), a.note}, {cmd.OutOrStdout(), a.out}, {cmd.ErrOrStderr(), a.then}} {
		if part.text == "" {
			continue
		}
		if _, err := io.WriteString(part.to, part.text); err != nil {
			return err
		}
	}
	return nil
}

// table returns rows as text: aligned columns for a terminal, tab-separated lines for a program.
func table(headers []string, rows [][]string) string {
	return tableText(headers, rows, isTerminal(os.Stdout))
}

// tableText returns a heading and rows, with aligned columns or not.
func tableText(headers []string, rows [][]string, aligned bool) string {
	lines := make([]string, 0, len(rows)+1)
	for _, row := range append([][]string{headers}, rows...) {
		lines = append(lines, strings.Join(row, "\t")+"\n")
	}
	text := strings.Join(lines, "")
	if !aligned {
		return text
	}
	var b strings.Builder // which never fails
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = io.WriteString(t, text)
	_ = t.Flush()
	return b.String()
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

// printList writes a list: a JSON array, or a table.
func printList[T any](cmd *cobra.Command, asJSON bool, list []T, columns []string, row func(T) []string) error {
	rows := make([][]string, 0, len(list))
	for _, item := range list {
		rows = append(rows, row(item))
	}
	// An empty list is [] and not null.
	return answer{json: append([]T{}, list...), out: table(columns, rows)}.print(cmd, asJSON)
}

// printObject writes an object of the API: as JSON, or a line per member with a value. It omits
// lists.
func printObject(cmd *cobra.Command, asJSON bool, v any) error {
	rows, err := members("", v)
	if err != nil {
		return err
	}
	return answer{json: v, out: table([]string{"member", "value"}, rows)}.print(cmd, asJSON)
}

// members lists the members of an object in order, nested ones by their path.
func members(path string, v any) ([][]string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var rows [][]string
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		at := path + fmt.Sprint(name)
		switch value[0] {
		case '{':
			below, err := members(at+".", value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, below...)
		case '[':
		default:
			rows = append(rows, []string{at, plain(value)})
		}
	}
	return rows, nil
}

// plain returns a JSON value without its quotes, in one line.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return string(value) // quotes foreign line breaks and escape sequences
	}
	return s
}
