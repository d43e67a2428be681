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
	"testing"
)

// plan is the import plan of the house: a package may import those that stand
// behind its name, and nothing else of ours. Floors go from words to the top; a
// name behind a floor counts for each of its packages, and a floor's name stands
// for all its packages. A line names only packages above it, so imports go one
// way. A package that is planned and not yet built may stand here already.
//
// A new import that the plan does not allow is a question about the design.
const plan = `
words                             # what everybody may say
    fault      :
    paging     : fault
    validate   : fault
    secret     :
tools                             # know nothing of licenses
    sqldb      :
    wire       : fault paging
    courier    : fault secret
    mail       : fault validate secret sqldb
    ui         : fault validate wire
    audit      : paging sqldb
    idempotency: fault sqldb
rooms          : audit            # own tables and rules; a command takes the acting audit.Actor
    partner    : fault paging validate secret sqldb
    account    : fault paging validate secret mail sqldb
    profile    : fault paging validate secret idempotency courier partner sqldb
    outage     : partner profile mail sqldb
    webhook    : fault paging secret courier outage profile partner sqldb
    event      : fault paging webhook sqldb
    license    : fault paging secret idempotency event partner account sqldb
    oauth      : fault validate secret wire sqldb partner account profile license
doors          : words tools rooms # never one another
    api        :
    operator   :
    portal     :
    console    :
    shop       :
top                               # puts the house together
    httpd      : fault wire
    app        : words tools rooms doors httpd
    devserver  : words tools rooms app
    e2e        : words tools rooms doors httpd app devserver
    cmd        : words tools rooms app devserver
    bench      : words tools rooms doors httpd app devserver
    sdk        :
`

// room is what the plan says of one package.
type room struct {
	floor string
	may   []string // names of packages
}

// readPlan turns the plan into rooms by name. A name that is not above the line
// it stands on is a mistake in the plan.
func readPlan(t *testing.T) map[string]room {
	t.Helper()
	rooms := make(map[string]room)
	floors := make(map[string][]string) // packages of a floor
	var floor string
	var all []string // what each package of the floor may import
	for line := range strings.Lines(plan) {
		line, _, _ = strings.Cut(line, "#")
		head, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(head)
		if len(words) == 0 {
			continue
		}
		var may []string
		for _, name := range strings.Fields(rest) {
			switch _, ok := rooms[name]; {
			case ok:
				may = append(may, name)
			case floors[name] != nil:
				may = append(may, floors[name]...)
			default:
				t.Errorf("the plan lets %s import %s, which is not above it", words[0], name)
			}
		}
		if line[0] != ' ' {
			floor, all = words[0], may
			continue
		}
		name := words[0]
		rooms[name] = room{floor: floor, may: slices.Concat(all, may)}
		floors[floor] = append(floors[floor], name)
	}
	return rooms
}

// source is one Go file of the module.
type source struct {
	file *ast.File
	set  *token.FileSet
	path string // from the root of the module, with slashes
	room string // the package in the plan that it belongs to
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

// sources reads every Go file of the module, but for the root's own tests.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
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
			file: file, set: set, path: name, pkg: dir, room: roomOf(dir),
			test: strings.HasSuffix(name, "_test.go") || support(dir),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// roomOf is the name in the plan of a folder: the first one under internal, or
// the first one of all.
func roomOf(dir string) string {
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
	rooms := readPlan(t)
	for _, s := range sources(t) {
		if s.room == "." {
			continue
		}
		this, ok := rooms[s.room]
		if !ok {
			t.Errorf("%s: the plan has no room %q", s.path, s.room)
			continue
		}
		for _, imported := range s.imports() {
			dir, ok := ours(imported)
			if !ok || s.test {
				continue
			}
			if name := roomOf(dir); name != s.room && !slices.Contains(this.may, name) {
				t.Errorf("%s: the plan does not let %s import %s", s.path, s.room, name)
			}
			if support(dir) {
				t.Errorf("%s: only tests may import %s", s.path, imported)
			}
		}
	}
}

// keepers are imports that only some may have.
var keepers = []struct {
	prefix string
	rooms  string // who may, in any floor; "doors" and "top" stand for all theirs
	why    string
}{
	{"github.com/jackc/pgx", "sqldb", "only sqldb knows the database"},
	{"github.com/ncruces/go-sqlite3", "sqldb", "only sqldb knows the database"},
	{"database/sql", "", "sqldb speaks to the drivers themselves (decisions/0004-native-drivers.md)"},
	{"net/http", "wire courier ui oauth doors top", "rooms know no HTTP"},
}

func TestKeptImports(t *testing.T) {
	rooms := readPlan(t)
	for _, s := range sources(t) {
		for _, imported := range s.imports() {
			for _, k := range keepers {
				if imported != k.prefix && !strings.HasPrefix(imported, k.prefix+"/") {
					continue
				}
				may := strings.Fields(k.rooms)
				if !s.test && !slices.Contains(may, s.room) && !slices.Contains(may, rooms[s.room].floor) {
					t.Errorf("%s imports %s: %s", s.path, imported, k.why)
				}
			}
		}
	}
}

// TestDomainTypesCarryNoTags keeps the shape of JSON out of the rooms: the door
// has a struct of its own for what it sends.
func TestDomainTypesCarryNoTags(t *testing.T) {
	rooms := readPlan(t)
	for _, s := range sources(t) {
		if rooms[s.room].floor != "rooms" || s.test {
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
						t.Errorf("%s: %s.%s has a tag", s.set.Position(field.Pos()), s.room, spec.Name)
					}
				}
			}
			return true
		})
	}
}
