package figure_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/bench/internal/figure"
)

// TestBenchmarks: each round is a line that benchstat can read.
func TestBenchmarks(t *testing.T) {
	perSecond := figure.Unit{Name: "op/s", Show: func(float64) string { return "" }}
	rows := []figure.Row{
		figure.Compare("purchases: 1 partner, a new buyer each (HTTP)", "SQLite", figure.Rounds{Ours: []float64{4, 9}, Yardstick: []float64{2, 3}}, perSecond, figure.AtLeast(2, ""), 0),
		figure.Single("ingest: p99", "PostgreSQL", "200 events", 1.5, "%.2f", "ms", figure.AtMost(10, "ms"), 0),
		figure.Single("lost", "SQLite", "", 0, "%.0f", "", figure.AtMost(0, ""), 0),
	}
	var b strings.Builder
	if err := figure.Benchmarks(&b, rows); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "yardstick-op/s better=higher\n")
	want := `BenchmarkPurchases_1_partner_a_new_buyer_each_HTTP/db=SQLite 1 2 ratio 4 op/s 2 yardstick-op/s
BenchmarkPurchases_1_partner_a_new_buyer_each_HTTP/db=SQLite 1 3 ratio 9 op/s 3 yardstick-op/s
BenchmarkIngest_p99/db=PostgreSQL 1 1.5 ms
BenchmarkLost/db=SQLite 1 0 count
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestReplaceTable: only the text between the marks is replaced, by rows with a goal.
func TestReplaceTable(t *testing.T) {
	rows := []figure.Row{
		figure.Single("a", "SQLite", "1 start", 2, "%.0f", "ms", figure.AtMost(3, "ms"), 0.01),
		figure.Single("b", "SQLite", "1 start", 2, "%.0f", "ms", figure.Goal{}, 0.01),
	}
	got, err := figure.ReplaceTable("before\n"+figure.TableBegins+"\nold\n"+figure.TableEnds+"\nafter\n", "go1", rows)
	want := "before\n" + figure.TableBegins + `

go1

| what | database | ours | yardstick | ratio (quartiles) | goal | reached | noise |
|---|---|---|---|---|---|---|---|
| a | SQLite | 1 start | – | **2 ms** | ≤ 3 ms | yes | 1 % |

` + figure.TableEnds + "\nafter\n"
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, err := figure.ReplaceTable("no marks", "go1", rows); err == nil {
		t.Error("a text without marks was taken")
	}
}
