package sqldb

import (
	"regexp"
	"strings"
	"testing"

	"claviger/internal/release"
)

// firstMarked is the first migration that must have a line with its kind.
const firstMarked = "0080"

// expandingOnly recognizes statements that an expanding migration may have. A new column may be null
// or has a constant default, so that no row is written.
var expandingOnly = regexp.MustCompile(`^(CREATE TABLE |CREATE (UNIQUE )?INDEX |INSERT INTO |` +
	`ALTER TABLE \w+ ADD COLUMN \w+ \w+( NOT NULL DEFAULT ('[^']*'|-?\d+|TRUE|FALSE))?$)`)

// TestKinds: each migration since 1.0.0 has a line with its kind, and does nothing else.
func TestKinds(t *testing.T) {
	for _, folder := range []string{"sqlite", "postgres"} {
		all, err := load(migrations, folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.name >= firstMarked {
				for _, mistake := range mistakes(m, folder) {
					t.Errorf("%s/%s: %s", folder, m.name, mistake)
				}
			}
		}
	}
}

// mistakes says what is wrong with a migration.
func mistakes(m migration, folder string) (list []string) {
	switch {
	case m.kind == unmarked:
		return []string{"needs the line -- kind: expanding, or -- kind: contracting, old form unused since VERSION"}
	case m.kind == contracting && release.Before(release.Version, m.since):
		return []string{"the previous release still uses the old form: " + m.since + " is newer than this version"}
	case m.kind == contracting && m.loss == "":
		return []string{"needs a sentence that says what it deletes"}
	case m.kind == contracting:
		return nil
	}
	made := map[string]bool{}
	for _, sql := range m.statements() {
		if name, ok := strings.CutPrefix(sql, "CREATE TABLE "); ok {
			made[strings.Fields(name)[0]] = true
		}
		on := regexp.MustCompile(`^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY IF NOT EXISTS )?\w+ ON (\w+)`).FindStringSubmatch(sql)
		switch {
		case !expandingOnly.MatchString(sql):
			list = append(list, "this does not only expand: "+sql)
		case strings.HasPrefix(sql, "INSERT INTO ") && !made[strings.Fields(sql)[2]]:
			list = append(list, "this writes to a table in use: "+sql)
		case folder == "postgres" && on != nil && !made[on[2]] && on[1] == "":
			list = append(list, "build it by CREATE INDEX CONCURRENTLY IF NOT EXISTS: "+sql)
		case m.concurrent() && (on == nil || on[1] == ""):
			list = append(list, "a migration that builds an index concurrently has nothing else: "+sql)
		}
	}
	return list
}

// TestMistakes: the check of kinds finds what it must.
func TestMistakes(t *testing.T) {
	const expand = "-- kind: expanding\n"
	const contract = "-- kind: contracting, old form unused since "
	for text, want := range map[string]string{
		"CREATE TABLE a (b TEXT);":                                                                        "needs the line",
		expand + "ALTER TABLE licenses DROP COLUMN tier;":                                                 "does not only expand",
		expand + "ALTER TABLE licenses ADD COLUMN a TEXT NOT NULL;":                                       "does not only expand",
		expand + "ALTER TABLE licenses ALTER COLUMN tier SET NOT NULL;":                                   "does not only expand",
		expand + "UPDATE licenses SET tier = 1;":                                                          "does not only expand",
		expand + "INSERT INTO licenses (tier) VALUES (1);":                                                "writes to a table in use",
		expand + "CREATE INDEX a ON licenses (tier);":                                                     "CONCURRENTLY",
		expand + "CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON licenses (tier); CREATE TABLE b (c TEXT);": "nothing else",
		contract + "99.0.0\n-- The old column.\nALTER TABLE licenses DROP COLUMN tier;":                   "the previous release still uses",
		contract + "1.0.0\nALTER TABLE licenses DROP COLUMN tier;":                                        "needs a sentence",

		expand + "ALTER TABLE licenses ADD COLUMN a TEXT;":                                           "",
		expand + "ALTER TABLE licenses ADD COLUMN a BIGINT NOT NULL DEFAULT 0;":                      "",
		expand + "CREATE TABLE a (b TEXT); CREATE INDEX c ON a (b); INSERT INTO a (b) VALUES ('x');": "",
		expand + "CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON licenses (tier);":                     "",
		contract + "1.0.0\n-- The old column.\nALTER TABLE licenses DROP COLUMN tier;":               "",
	} {
		m, err := parseMigration("9000_test", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := strings.Join(mistakes(m, "postgres"), "\n")
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s\nis wrong because: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"-- kind: other", contract + "soon", "-- kind: expanding, perhaps"} {
		if _, err := parseMigration("9000_test", text); err == nil {
			t.Errorf("%s is understood", text)
		}
	}
}
