// Command measure prints how readable the code is: the figures of CONTRIBUTING.md that a
// reviewer can compare before and after a change.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	packages := flag.Bool("packages", false, "list lines and tokens of each package, too")
	fields := flag.Bool("fields", false, "list the function fields that wire packages together, too")
	worst := flag.Int("worst", 0, "list so many comment lines with a word of the first rate")
	flag.Parse()
	m, err := measure(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
	m.print(os.Stdout)
	if *packages {
		m.printPackages(os.Stdout)
	}
	if *fields {
		for _, f := range m.hooks {
			fmt.Println(f)
		}
	}
	for _, line := range m.comments.lines[:min(*worst, len(m.comments.lines))] {
		fmt.Println(line)
	}
}

// measures are the figures of a module.
type measures struct {
	comments words
	docs     words
	code     code            // of internal and cmd, without tests
	packages map[string]code // by folder
	hooks    []string        // function fields, as package.Type.Field
}

// measure reads the module in a folder.
func measure(root string) (*measures, error) {
	m := &measures{packages: map[string]code{}}
	files, err := goFiles(root)
	if err != nil {
		return nil, err
	}
	var parsed []*source
	for _, name := range files {
		s, err := parse(root, name)
		if err != nil {
			return nil, err
		}
		m.comments.addComments(s)
		if s.counts() {
			c := countCode(s)
			m.code.add(c)
			sum := m.packages[filepath.Dir(name)]
			sum.add(c)
			m.packages[filepath.Dir(name)] = sum
		}
		parsed = append(parsed, s)
	}
	m.hooks = findHooks(parsed)
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, name := range docs {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m.docs.add(name, 1, string(text))
	}
	return m, nil
}

// print writes the table.
func (m *measures) print(w io.Writer) {
	c := m.code
	rows := [][2]string{
		{"what, who, whose, whom, whoever, whatever per 1,000 words of comments", fmt.Sprintf("%.1f", m.comments.rate())},
		{"the same in docs", fmt.Sprintf("%.1f", m.docs.rate())},
		{"tokens per line of code", fmt.Sprintf("%.2f", float64(c.tokens)/float64(max(c.lines, 1)))},
		{"tokens of Go in internal and cmd without tests", fmt.Sprint(c.tokens)},
		{"assignments of several values, as a share of assignments", percent(c.parallel, c.assignments)},
		{"code lines over 120 columns", percent(c.long, c.lines)},
		{"function fields that wire packages together", fmt.Sprint(len(m.hooks))},
	}
	fmt.Fprintf(w, "| measured | figure |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s |\n", r[0], r[1])
	}
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}

// printPackages lists the packages, the largest first.
func (m *measures) printPackages(w io.Writer) {
	var names []string
	for name := range m.packages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return m.packages[b].tokens - m.packages[a].tokens })
	fmt.Fprintf(w, "\n| package | lines | tokens |\n|---|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(w, "| %s | %d | %d |\n", strings.TrimPrefix(name, "./"), m.packages[name].lines, m.packages[name].tokens)
	}
}
