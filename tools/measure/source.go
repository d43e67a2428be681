package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// source is a Go file.
type source struct {
	name string // in the module
	text []byte
	set  *token.FileSet
	file *ast.File
}

// counts reports whether the code of the file is measured.
func (s *source) counts() bool {
	program := strings.HasPrefix(s.name, "internal/") || strings.HasPrefix(s.name, "cmd/")
	return program && !strings.HasSuffix(s.name, "_test.go")
}

// goFiles lists the Go files of a module, without those of modules inside it.
func goFiles(root string) (names []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, missing := os.Stat(filepath.Join(path, "go.mod"))
			nested := path != root && missing == nil
			if nested || entry.Name() == "testdata" || entry.Name() == "node_modules" || entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			name, err := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	return names, err
}

// parse reads a file.
func parse(root, name string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	return &source{name, text, set, file}, err
}

// words counts words and those of them that often begin a sentence with a clause.
type words struct {
	all   int
	found int
	lines []string // that have one
}

var (
	word   = regexp.MustCompile(`[A-Za-z']+`)
	clause = regexp.MustCompile(`(?i)\b(what|who|whose|whom|whoever|whatever)\b`)
)

// addComments counts the comments of a file, without directives.
func (w *words) addComments(s *source) {
	for _, group := range s.file.Comments {
		w.add(s.name, s.set.Position(group.Pos()).Line, group.Text())
	}
}

// add counts a text that begins at a line of a file.
func (w *words) add(name string, line int, text string) {
	for i, l := range strings.Split(text, "\n") {
		w.all += len(word.FindAllString(l, -1))
		if n := len(clause.FindAllString(l, -1)); n > 0 {
			w.found += n
			w.lines = append(w.lines, name+":"+strconv.Itoa(line+i)+": "+strings.TrimSpace(l))
		}
	}
}

// rate returns how many of 1,000 words are found.
func (w *words) rate() float64 { return 1000 * float64(w.found) / float64(max(w.all, 1)) }

// code counts what a reader reads.
type code struct {
	lines       int // on which a token begins
	tokens      int // without comments, with the semicolons that the scanner inserts
	long        int // lines over 120 columns
	assignments int
	parallel    int // of several values to several variables
}

func (c *code) add(other code) {
	c.lines += other.lines
	c.tokens += other.tokens
	c.long += other.long
	c.assignments += other.assignments
	c.parallel += other.parallel
}

// maxColumns is how long a line may be, with tabs of four columns.
const maxColumns = 120

// countCode counts the code of a file.
func countCode(s *source) code {
	var c code
	withCode := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile(s.name, -1, len(s.text))
	var scan scanner.Scanner
	scan.Init(file, s.text, nil, 0)
	for {
		pos, tok, _ := scan.Scan()
		if tok == token.EOF {
			break
		}
		c.tokens++
		withCode[file.Line(pos)] = true
	}
	for i, line := range strings.Split(string(s.text), "\n") {
		columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
		if withCode[i+1] && columns > maxColumns {
			c.long++
		}
	}
	c.lines = len(withCode)
	ast.Inspect(s.file, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			c.assignments++
			if len(a.Lhs) > 1 && len(a.Rhs) > 1 {
				c.parallel++
			}
		}
		return true
	})
	return c
}
