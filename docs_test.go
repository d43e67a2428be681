package claviger_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"claviger/internal/app"
)

var update = flag.Bool("update", false, "write the table of settings into docs/operator.md")

// documents reads every Markdown file of the repository by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	root := os.DirFS(".")
	for _, pattern := range []string{"*.md", "*/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			texts[name] = read(t, name)
		}
	}
	return texts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exists reports whether a path, or any match of a pattern, is in the repository.
func exists(name string) bool {
	if before, after, ok := strings.Cut(name, "{"); ok { // a{b,c}d becomes abd
		choices, rest, _ := strings.Cut(after, "}")
		first, _, _ := strings.Cut(choices, ",")
		name = before + first + rest
	}
	found, err := fs.Glob(os.DirFS("."), path.Clean(name))
	return err == nil && len(found) > 0
}

// TestReadmeCommands: the README names one command that runs the service and one that tests it; CI
// runs the latter, and `make check` contains it.
func TestReadmeCommands(t *testing.T) {
	readme := read(t, "README.md")
	for _, command := range []string{"\n    go run ./cmd/claviger dev\n", "\n    make test\n"} {
		if strings.Count(readme, command) != 1 {
			t.Errorf("README.md does not have the command %q exactly once", strings.TrimSpace(command))
		}
	}
	if !strings.Contains(read(t, ".ci/run"), "\nmake test\n") {
		t.Error(".ci/run does not run make test")
	}
}

// TestReadmePictures: README.md shows the pages in light and in dark, with pictures that exist,
// have both forms and load fast.
func TestReadmePictures(t *testing.T) {
	const maxSize = 150 << 10
	shown := regexp.MustCompile(`(?:src|srcset)="([^"]+)"`).FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(shown) < 2 {
		t.Fatal("README.md shows no picture in light and dark")
	}
	for _, m := range shown {
		other := strings.NewReplacer("-light.", "-dark.", "-dark.", "-light.").Replace(m[1])
		if !slices.ContainsFunc(shown, func(s []string) bool { return s[1] == other }) {
			t.Errorf("README.md shows %s without %s", m[1], other)
		}
		if info, err := os.Stat(m[1]); err != nil || info.Size() > maxSize {
			t.Errorf("%s is missing or larger than %d bytes: %v", m[1], maxSize, err)
		}
	}
}

func TestDocumentsNameMakeTargetsThatExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which the Makefile has not got", name, m[1])
			}
		}
	}
}

func TestDocumentsNameFilesThatExist(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)`)
	quoted := regexp.MustCompile("`((?:internal|cmd|script|docs|decisions|bench|tools)/[^` ]*|[A-Za-z_./-]+\\.(?:md|go|yml))`")
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[1], "://") && !exists(path.Join(path.Dir(name), m[1])) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			made := strings.HasPrefix(m[1], "bench/data") // made by make bench, and not in the repository
			if !made && !exists(m[1]) && !exists(path.Join("internal", m[1])) {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
	}
}

// TestDocumentsNamePathsThatExist compares each `METHOD /path` in the documents with the
// descriptions of the APIs.
func TestDocumentsNamePathsThatExist(t *testing.T) {
	paths := make(map[string]map[string]json.RawMessage)
	for _, file := range []string{"internal/api/openapi.json", "internal/operator/openapi.json"} {
		var description struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		if err := json.Unmarshal([]byte(read(t, file)), &description); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for p, methods := range description.Paths {
			paths[anyName(p)] = methods
		}
	}
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/(?:v2|operator/v1)/[^`? ]+)").FindAllStringSubmatch(text, -1) {
			if _, ok := paths[anyName(m[2])][strings.ToLower(m[1])]; !ok {
				t.Errorf("%s names %s %s, which no API has", name, m[1], m[2])
			}
		}
	}
}

// anyName removes the names of parameters from a path.
func anyName(p string) string { return regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(p, "{}") }

// TestArchitectureNamesEveryPackage: each folder under internal is on the page.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	packages, err := fs.Glob(os.DirFS("internal"), "*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	packages = slices.CompactFunc(packages, func(a, b string) bool { return path.Dir(a) == path.Dir(b) })
	for _, file := range packages {
		if pkg := path.Dir(file); !strings.Contains(text, "`"+pkg+"`") {
			t.Errorf("ARCHITECTURE.md does not name the package %s", pkg)
		}
	}
}

// TestDocumentsAreOneSentencePerLine: a diff of a document shows the changed sentence. Tables,
// code, and lines with long links are exempt.
func TestDocumentsAreOneSentencePerLine(t *testing.T) {
	const maxColumns = 100
	ends := regexp.MustCompile(`[a-z0-9)][.!?] [A-Z][a-z]`)
	marked := regexp.MustCompile("`[^`]*`|\\*\\*.*?\\*\\*|\\*[^*]*\\*|\\([^)]*\\)|^ *[0-9]+\\.")
	for name, text := range documents(t) {
		fenced := false
		for number, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			if fenced || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "    ") {
				continue
			}
			if n := utf8.RuneCountInString(line); n > maxColumns && !strings.Contains(line, "](") {
				t.Errorf("%s:%d has %d columns; at most %d, or a link", name, number+1, n, maxColumns)
			}
			if m := ends.FindString(marked.ReplaceAllString(line, "")); m != "" {
				t.Errorf("%s:%d has two sentences, at %q", name, number+1, m)
			}
			if strings.Contains(line, " → ") {
				t.Errorf("%s:%d has an arrow; write a path of data as a numbered list", name, number+1)
			}
		}
	}
}

// TestOperatorGuideHasTheSettings: the table of settings matches the program. `go test . -update`
// writes it.
func TestOperatorGuideHasTheSettings(t *testing.T) {
	const name, begin, end = "docs/operator.md", "<!-- settings -->\n", "<!-- end of settings -->\n"
	text := read(t, name)
	before, rest, _ := strings.Cut(text, begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the settings", name)
	}
	want := before + begin + app.Markdown() + end + after
	if text == want {
		return
	}
	if !*update {
		t.Fatalf("the table of settings in %s is not the program's; run go test . -update", name)
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOperatorGuideHasTheFiles: the guide lists exactly the settings that can come from a file.
func TestOperatorGuideHasTheFiles(t *testing.T) {
	_, text, found := strings.Cut(read(t, "docs/operator.md"), "these settings have one:\n")
	text, _, ended := strings.Cut(text, ".\n")
	if !found || !ended {
		t.Fatal("docs/operator.md has no list of the settings that can come from a file")
	}
	var want, got []string
	for _, s := range app.Settings(app.Serve) {
		if s.Secret {
			want = append(want, "`"+s.Name+"`")
		}
	}
	for part := range strings.SplitSeq(text, ",") {
		got = append(got, strings.TrimSpace(part))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the guide lists %v, and the settings are %v", got, want)
	}
}

// TestRunbooks: each alert has a runbook and links to it, and each runbook has an alert.
func TestRunbooks(t *testing.T) {
	var alerts, runbooks []string
	for _, m := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllStringSubmatch(read(t, "deploy/alerts.yaml"), -1) {
		alerts = append(alerts, m[1])
		if !strings.Contains(read(t, "deploy/alerts.yaml"), " runbook: docs/runbooks.md#"+strings.ToLower(m[1])+"\n") {
			t.Errorf("the alert %s does not lead to its runbook", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(read(t, "docs/runbooks.md"), -1) {
		runbooks = append(runbooks, m[1])
	}
	if len(alerts) == 0 || !slices.Equal(alerts, runbooks) {
		t.Errorf("the alerts are %q, and docs/runbooks.md has %q", alerts, runbooks)
	}
}

// TestAnchors: a link to a part of a guide leads to one of its headings.
func TestAnchors(t *testing.T) {
	word := regexp.MustCompile(`[^\w\- ]`)
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([\w./-]*)#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			target := text
			if m[1] != "" {
				target = read(t, path.Join(path.Dir(name), m[1]))
			}
			found := false
			for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(target, -1) {
				found = found || strings.ReplaceAll(word.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			}
			if !found {
				t.Errorf("%s leads to %s#%s, and there is no such heading", name, m[1], m[2])
			}
		}
	}
}
