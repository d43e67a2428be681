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

// plan is the import plan: a package may import the packages after its name, and no other package
// of this module. Layers go from words to top. A name after a layer counts for each of its
// packages, and the name of a layer stands for all its packages. A line names only packages above
// it, so imports go one way. Planned packages may be listed before they exist.
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
    release    :
tools                             # know nothing of licenses
    sqldb      : release
    wire       : fault paging validate
    courier    : fault secret jsontext
    diagnose   : fault secret jsontext courier
    scenario   : fault secret courier diagnose
    live       :
    cluster    : release sqldb
    job        : sqldb
    backups    : job sqldb
    ui         : fault validate plural money wire
    prune      : cluster job sqldb
    audit      : paging plural prune sqldb
    batch      : job
    lastuse    : sqldb
    sealing    : secret sqldb
    mail       : fault validate secret cluster job prune audit sealing sqldb
    idempotency: fault prune sqldb
domain         : audit job prune  # own tables and rules; a command takes the acting audit.Actor
    invitation : fault validate secret mail sqldb
    account    : fault paging validate secret cluster idempotency lastuse mail sealing sqldb invitation
    partner    : fault paging validate secret wire idempotency lastuse mail sealing sqldb invitation account
    profile    : fault paging validate secret idempotency courier diagnose partner sqldb
    outage     : plural partner profile mail sqldb
    webhook    : fault paging secret courier diagnose cluster outage profile partner sqldb
    dispatch   : courier diagnose cluster webhook sqldb
    redelivery     : fault batch account partner webhook sqldb
    event      : fault paging webhook sqldb
    simulator  : fault paging secret courier diagnose scenario partner profile webhook event sqldb
    stats      : event webhook sqldb
    ledger     : fault paging validate money partner sqldb
    refundrequest : fault validate money mail partner account sqldb
    license    : fault paging secret idempotency ledger event partner account profile stats refundrequest sqldb
    notice     : plural money mail partner account license sqldb
    payment    : fault paging secret money cluster mail ledger partner account refundrequest license sqldb
    accounting : fault secret plural money cluster idempotency partner ledger license payment refundrequest sqldb
    payout     : fault validate secret money mail sealing sqldb idempotency partner account ledger accounting
    revenue    : ledger sqldb
    statement  : fault money mail partner profile ledger sqldb
    merge      : fault validate account license payment sqldb
    oauth      : fault validate secret wire sealing sqldb partner account profile license
    support    : fault paging validate money sqldb mail partner account profile webhook event license notice payment oauth
    requestlog : license sqldb
    bulk       : fault paging batch account partner license payment webhook sqldb
    export     : fault paging money wire account license event webhook payment statement payout requestlog ledger revenue sqldb
    today      : money sqldb backups mail ledger partner profile webhook refundrequest license payment oauth
visitor        : words tools domain # who requests a page and what they may see
    visitor    :
    area       : visitor          # what the portal and the console share
apis           : words tools domain # what the partner's and the marketplace's API have in common
    answers    :
http           : words tools domain visitor area answers # never one another
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
    httpd      : fault wire requestlog
    app        : words tools domain visitor answers http httpd
    devserver  : words tools domain app sdk
    apptest    : words tools domain app
    e2e        : words tools domain visitor answers http httpd app devserver sdk
    cmd        : words tools domain app devserver sdk
    bench      : words tools domain visitor answers http httpd app devserver sdk
`

// planned is the entry of one package in the plan.
type planned struct {
	layer string
	may   []string // names of packages
}

// readPlan returns the packages of the plan by name. A name must be above the line that uses it.
func readPlan(t *testing.T) map[string]planned {
	t.Helper()
	packages := make(map[string]planned)
	layers := make(map[string][]string) // packages of a layer
	var layer string
	var all []string // allowed imports of each package of the layer
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
	name string // its package in the plan
	pkg  string // its folder
	test bool   // for tests only: a _test.go file, or a package of test support
}

// imports returns the import paths of the file.
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

// sources returns all Go files of the module, except the root's own tests. They are read once and
// must not be changed.
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

// nameOf returns the name of a folder in the plan: the first one under internal, or the first one
// of all.
func nameOf(dir string) string {
	dir = strings.TrimPrefix(dir, "internal/")
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// support reports whether a folder has a package for tests only: its name ends in "test", like
// sqldbtest.
func support(dir string) bool { return strings.HasSuffix(dir, "test") }

// ours returns the folder of an import of this module.
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
	{"claviger/internal/sqldb/backup", "backups top", "a job and people by commands back up a database, and only people restore one"},
	{"claviger/internal/sqldb/dbcopy", "top", "people copy a database by a command"},
	{"claviger/internal/dispatch", "top", "what is to be sent is written into the outbox of webhook"},
	{"net/http", "wire courier diagnose payment ui oauth visitor area answers http top sdk", "domain packages know no HTTP; payment calls its provider"},
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

// TestDomainTypesCarryNoTags keeps the shape of JSON out of the domain: an HTTP package has its own
// structs for its output.
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
