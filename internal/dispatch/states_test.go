package dispatch_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/dispatch"
)

var update = flag.Bool("update", false, "write the tables of states into doc.go")

// Each state of a lane has an entry for each of its messages, and the package comment shows them.
func TestTheTablesOfStates(t *testing.T) {
	const file = "doc.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tables, wrong := dispatch.Tables()
	same(t, "messages that are in no table", wrong, nil)
	for _, table := range tables {
		same(t, "wrong entries of "+table.Name, table.Wrong, nil)
		var want strings.Builder
		for line := range strings.Lines(table.Text) {
			want.WriteString("//\t" + line)
		}
		shown := regexp.MustCompile(`(?://\t` + table.Name + `\b.*\n)(?://\t.*\n)*`).FindIndex(text)
		if shown == nil {
			t.Fatalf("%s has no table %s", file, table.Name)
		}
		if !*update {
			same(t, "table "+table.Name+" in "+file+", which -update writes", string(text[shown[0]:shown[1]]), want.String())
		}
		text = []byte(string(text[:shown[0]]) + want.String() + string(text[shown[1]:]))
	}
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
}
