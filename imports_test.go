package claviger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// plan is the import plan: a package may import the packages behind its name, and
// no other package of this module. Layers go from words to top. A name behind a
// layer counts for each of its packages, and the name of a layer stands for all its
// packages. A line names only packages above it, so imports go one way. A package
// that is planned and not yet built may be listed already.
//
// An import that the plan does not allow is a question about the design.
const plan = `
words                             # small types that every package may use
    fault      :
    paging     : fault
    validate   : fault
    secret     :
    jsontext   :
    plural     :
    money      : plural
    docs       :
    markdown   :
tools                             # know nothing of licenses
    sqldb      :
    wire       : fault paging validate
    courier    : fault secret jsontext
    scenario   : fault secret courier
    live       :
    cluster    : sqldb
    job        : sqldb
    ui         : fault validate plural money wire
    audit      : paging plural sqldb
    batch      : job
    lastuse    : sqldb
    sealing    : secret sqldb
    mail       : fault validate secret job audit sealing sqldb
    idempotency: fault sqldb
domain         : audit job        # own tables and rules; a command takes the acting audit.Actor
    invitation : fault validate secret mail sqldb
    partner    : fault paging validate secret idempotency lastuse mail sealing sqldb invitation
    account    : fault paging validate secret idempotency lastuse mail sealing sqldb invitation
    profile    : fault paging validate secret idempotency courier partner sqldb
    outage     : plural partner profile mail sqldb
    webhook    : fault paging secret courier cluster outage profile partner sqldb
    dispatch   : courier cluster webhook sqldb
    replay     : fault batch partner webhook sqldb
    event      : fault paging webhook sqldb
    simulator  : fault paging secret courier scenario partner profile webhook event sqldb
    license    : fault paging secret idempotency event partner account sqldb
    notice     : plural money mail partner account license sqldb
    payment    : fault secret money partner account license sqldb
    oauth      : fault validate secret wire sealing sqldb partner account profile license
    support    : fault paging validate money sqldb mail partner account profile webhook event license payment oauth
    requestlog : sqldb
    stats      : event webhook sqldb
    bulk       : fault paging batch account partner license webhook sqldb
    export     : fault paging money wire account license event webhook requestlog sqldb
    today      : money sqldb mail partner profile webhook license payment oauth
visitor        : words tools domain # who requests a page and what they may see
    visitor    :
    area       : visitor          # what the portal and the console share
http           : words tools domain visitor area # never one another
    api        :
    operator   :
    signin     :
    portal     :
    console    :
    shop       :
    docsite    :
sdk                               # the client of both APIs; other programs import it, too
    sdk        :
top                               # builds the program from the packages
    httpd      : fault wire
    app        : words tools domain visitor http httpd
    devserver  : words tools domain app sdk
    apptest    : words tools domain app
    e2e        : words tools domain visitor http httpd app devserver sdk
    cmd        : words tools domain app devserver sdk
    bench      : words tools domain visitor http httpd app devserver sdk
`

// planned is what the plan says of one package.
type planned struct {
	layer string
	may   []string // names of packages
}

// readPlan returns the packages of the plan by name. A name that is not above the
// line it is used on is a mistake in the plan.
func readPlan(t *testing.T) map[string]planned {
	t.Helper()
	packages := make(map[string]planned)
	layers := make(map[string][]string) // packages of a layer
	var layer string
	var all []string // what each package of the layer may import
	for line := range strings.Lines(plan) {
		line, _, _ = strings.Cut(line, "#")
		head, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(head)
		if len(words) == 0 {
			continue
		}
		var may []string
		for _, name := range strings.Fields(rest) {
			switch _, ok := packages[name]; {
			case ok:
				may = append(may, name)
			case layers[name] != nil:
				may = append(may, layers[name]...)
			default:
				t.Errorf("the plan lets %s import %s, which is not above it", words[0], name)
			}
		}
		if line[0] != ' ' {
			layer, all = words[0], may
			continue
		}
		name := words[0]
		packages[name] = planned{layer: layer, may: slices.Concat(all, may)}
		layers[layer] = append(layers[layer], name)
	}
	return packages
}

// source is one Go file of the module.
type source struct {
	file *ast.File
	set  *token.FileSet
	path string // from the root of the module, with slashes
	name string // the package in the plan that it belongs to
	pkg  string // the folder it lies in
	test bool   // for tests only: a _test.go file, or a package of test support
}

// imports is what the file imports, as paths.
func (s source) imports() []string {
	var list []string
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			list = append(list, p)
		}
	}
	return list
}

// sources are all Go files of the module, but for the root's own tests. Nobody changes them:
// they are read once.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(list)
}

var readSources = sync.OnceValues(func() (list []source, err error) {
	root := os.DirFS(".")
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name()[0] == '.' || entry.Name() == "testdata" || name == "tools" || name == "bin"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		list = append(list, source{
			file: file, set: set, path: name, pkg: dir, name: nameOf(dir),
			test: strings.HasSuffix(name, "_test.go") || support(dir),
		})
		return nil
	})
	return list, err
})

// nameOf is the name in the plan of a folder: the first one under internal, or
// the first one of all.
func nameOf(dir string) string {
	dir = strings.TrimPrefix(dir, "internal/")
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// support reports whether a folder holds a package for tests only: its name ends
// in "test", as that of sqldbtest does.
func support(dir string) bool { return strings.HasSuffix(dir, "test") }

// ours is the folder of an import of this module.
func ours(importPath string) (dir string, ok bool) {
	return strings.CutPrefix(importPath, "claviger/")
}

func TestImportsFollowThePlan(t *testing.T) {
	packages := readPlan(t)
	for _, s := range sources(t) {
		if s.name == "." {
			continue
		}
		this, ok := packages[s.name]
		if !ok {
			t.Errorf("%s: the plan has no package %q", s.path, s.name)
			continue
		}
		for _, imported := range s.imports() {
			dir, ok := ours(imported)
			if !ok || s.test {
				continue
			}
			if name := nameOf(dir); name != s.name && !slices.Contains(this.may, name) {
				t.Errorf("%s: the plan does not let %s import %s", s.path, s.name, name)
			}
			if support(dir) {
				t.Errorf("%s: only tests may import %s", s.path, imported)
			}
		}
	}
}

// restricted are imports that only some packages may have.
var restricted = []struct {
	prefix string
	may    string // packages, or layers for all their packages
	why    string
}{
	{"github.com/jackc/pgx", "sqldb bench", "only sqldb knows the database, and yardsticks that go without it"},
	{"github.com/ncruces/go-sqlite3", "sqldb bench", "only sqldb knows the database, and yardsticks that go without it"},
	{"database/sql", "", "sqldb speaks to the drivers themselves (decisions/0004-native-drivers.md)"},
	{"claviger/internal/dispatch", "top", "what is to be sent is written into the outbox of webhook"},
	{"net/http", "wire courier payment ui oauth visitor area http top sdk", "domain packages know no HTTP; payment calls its provider"},
}

func TestRestrictedImports(t *testing.T) {
	packages := readPlan(t)
	for _, s := range sources(t) {
		for _, imported := range s.imports() {
			for _, k := range restricted {
				if imported != k.prefix && !strings.HasPrefix(imported, k.prefix+"/") {
					continue
				}
				may := strings.Fields(k.may)
				if !s.test && !slices.Contains(may, s.name) && !slices.Contains(may, packages[s.name].layer) {
					t.Errorf("%s imports %s: %s", s.path, imported, k.why)
				}
			}
		}
	}
}

// TestDomainTypesCarryNoTags keeps the shape of JSON out of the domain: an HTTP
// package has a struct of its own for what it sends.
func TestDomainTypesCarryNoTags(t *testing.T) {
	packages := readPlan(t)
	for _, s := range sources(t) {
		if packages[s.name].layer != "domain" || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					if field.Tag != nil {
						t.Errorf("%s: %s.%s has a tag", s.set.Position(field.Pos()), s.name, spec.Name)
					}
				}
			}
			return true
		})
	}
}
