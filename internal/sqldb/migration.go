package sqldb

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"claviger/internal/release"
)

// The migrations of both databases: same numbers, same columns.
//
//go:embed migrations
var migrations embed.FS

// Migrations returns the files of the migrations, in the folder migrations.
func Migrations() fs.FS { return migrations }

// migrationKind says when a migration may run.
type migrationKind int

const (
	// unmarked migrations are from before 1.0.0: they run only while no node does.
	unmarked migrationKind = iota
	// expanding migrations run while nodes of the previous release serve.
	expanding
	// contracting migrations run when no node needs the old form.
	contracting
)

type migration struct {
	name  string
	text  string
	kind  migrationKind
	since string // contracting: the oldest version that does not use the old form
	loss  string // contracting: its comment, for people
}

// kindLine is the comment line with the kind of a migration.
var kindLine = regexp.MustCompile(`(?m)^-- kind: (expanding|contracting, old form unused since (\S+))$`)

// parseMigration reads the comment lines of a migration.
func parseMigration(name, text string) (migration, error) {
	m := migration{name: name, text: text}
	found := kindLine.FindStringSubmatch(text)
	switch {
	case found == nil && strings.Contains(text, "-- kind:"):
		return m, fmt.Errorf("%s: its line of the kind is not understood", name)
	case found == nil:
	case found[2] == "":
		m.kind = expanding
	case !release.Valid(found[2]):
		return m, fmt.Errorf("%s: %q is no version", name, found[2])
	default:
		m.kind = contracting
		m.since = found[2]
		m.loss = comment(text)
	}
	return m, nil
}

// comment returns the sentences of a migration's comment, without the lines for programs.
func comment(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if is && !strings.HasPrefix(rest, "kind:") && strings.Contains(rest, " ") {
			words = append(words, rest)
		}
	}
	return strings.Join(words, " ")
}

// concurrent reports whether a migration builds indexes concurrently, which PostgreSQL does only
// outside a transaction.
func (m migration) concurrent() bool { return strings.Contains(m.text, "CONCURRENTLY") }

// statements splits a migration that builds indexes concurrently.
func (m migration) statements() []string {
	var list []string
	for part := range strings.SplitSeq(commentLine.ReplaceAllString(m.text, ""), ";") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

var (
	commentLine = regexp.MustCompile(`(?m)--.*$`)
	indexName   = regexp.MustCompile(`INDEX CONCURRENTLY IF NOT EXISTS (\w+)`)
)

// load returns the migrations of this database, in order.
func (db *DB) load() ([]migration, error) { return load(db.files, db.engine.folder()) }

func load(in fs.FS, folder string) ([]migration, error) {
	files, err := fs.Glob(in, path.Join("migrations", folder, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(files)
	var all []migration
	for _, f := range files {
		text, err := fs.ReadFile(in, f)
		if err != nil {
			return nil, fmt.Errorf("read a migration: %w", err)
		}
		m, err := parseMigration(strings.TrimSuffix(path.Base(f), ".sql"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
