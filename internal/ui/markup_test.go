package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/ui"
)

// written has the parts that are written by hand.
type written struct {
	Table    ui.Table
	Field    ui.Field
	Timeline ui.Timeline
	Filters  ui.Filters
	Pager    ui.Pager
	Curl     ui.Curl
	Results  ui.Results
}

// hostile draws texts with a meaning in HTML, in attributes or in URLs.
var hostile = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", "a", "<script>alert(1)</script>", `" onclick="alert(1)`, "'", "&amp;", "+1", "\x00", "javascript:alert(1)", "/portal/1?a=b&c=d", "//evil.example",
	"/a b", "/a%20b", "/a?b=partner%3A1&c=%3cd%3E", "/a%", "/a%2", "/a%zz", "/a%2g", "https://example.com/?q=a&b=<", "data:text/html,x", "mailto:a@example.com", "#x", "/ü", "/a\"b", "JaVaScRiPt:x", "\xff", "active", "no_url",
}))

func drawn(t *rapid.T) written {
	text := func(name string) string { return hostile.Draw(t, name) }
	at := rapid.SampledFrom([]time.Time{{}, time.Date(2026, 11, 16, 8, 0, 1, 0, time.UTC), time.Date(2027, 5, 6, 0, 9, 59, 999, time.FixedZone("", 3600))}).Draw(t, "at")
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	var w written
	w.Table = ui.Table{ID: text("id"), Caption: text("caption"), Cards: yes("cards"), Lines: yes("lines"), Columns: []ui.Column{{Label: text("column")}, {Label: text("column"), Number: yes("number"), Wide: yes("wide"), Named: yes("named")}, {Wrap: yes("wrap"), Wide: yes("wide")}}}
	for range rapid.IntRange(0, 3).Draw(t, "rows") {
		row := ui.Row{ID: text("row id")}
		for range 3 {
			c := ui.Cell{Text: text("text"), URL: text("url"), Code: yes("code"), Status: text("status"), At: at, Exact: yes("exact"), Note: text("note")}
			if yes("links") {
				c.Acts = ui.Links(ui.RowLink{Label: text("label"), Of: text("of"), URL: text("link")})
			}
			if yes("tick") {
				if c.Acts == nil {
					c.Acts = &ui.RowActs{}
				}
				c.Acts.Tick = &ui.RowTick{Name: text("name"), Value: text("value"), Form: text("form"), Of: text("of")}
			}
			row.Cells = append(row.Cells, c)
		}
		w.Table.Rows = append(w.Table.Rows, row)
		w.Timeline.Entries = append(w.Timeline.Entries, ui.TimelineEntry{At: at, Title: text("title"), URL: text("url"), Text: text("text"), Status: text("status")})
	}
	w.Field = ui.Field{
		Name: text("name"), Label: text("label"), Value: text("value"), Hint: text("hint"), Error: text("error"), Autocomplete: text("autocomplete"),
		Type: rapid.SampledFrom([]string{"", "email", "password", "select", "textarea", "checkbox"}).Draw(t, "type"), Rows: rapid.IntRange(0, 9).Draw(t, "lines"),
		Options: []ui.Option{{Value: text("value"), Label: text("label")}, {}}, Checked: yes("checked"), Required: yes("required"), Autofocus: yes("autofocus"),
	}
	w.Filters = ui.Filters{
		Label: text("label"), URL: text("url"), Active: yes("active"), Fold: yes("fold"), Fields: []ui.Field{w.Field, {Name: "x"}},
		Hidden: []ui.Param{{Name: text("name"), Value: text("value")}, {Name: "n", Value: 7}},
	}
	w.Pager = ui.Pager{Label: text("label"), Showing: text("showing"), Prev: text("prev"), Next: text("next")}
	w.Curl = ui.Curl{What: text("what"), URL: text("url"), JSON: text("json")}
	w.Results = ui.Results{Filters: w.Filters, Table: w.Table, Nothing: ui.Empty{Title: text("title"), Text: text("text"), URL: text("url"), Action: text("action")}, SearchedTo: at, GoOn: text("go on"), Pager: w.Pager}
	return w
}

// TestMarkup compares hand-written markup with html/template, for any texts and URLs.
func TestMarkup(t *testing.T) {
	pages, err := ui.New(os.DirFS("testdata/oracle"), nil, "*.html")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := drawn(t)
		answer := httptest.NewRecorder()
		if err := pages.Render(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "markup", ui.View{Data: w}); err != nil {
			t.Fatal(err)
		}
		body := answer.Body.String()
		_, link, _ := strings.Cut(body, `<hr id="mark-9">`)
		link, _, _ = strings.Cut(link, `<hr id="mark-10">`)
		for i, got := range []string{string(w.Table.HTML()), string(w.Field.HTML()), string(w.Timeline.Body()), string(w.Filters.HTML()), string(w.Pager.HTML()), string(w.Curl.HTML()), string(w.Results.HTML()), link} {
			_, rest, _ := strings.Cut(body, fmt.Sprintf(`<hr id="mark-%d">`, i+1))
			want, _, ok := strings.Cut(rest, fmt.Sprintf(`<hr id="mark-%d">`, i+2))
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Fatalf("part %d (-html/template +by hand):\n%s", i+1, diff)
			}
		}
	})
}

// TestTimesByHand compares hand-written times with package time.
func TestTimesByHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := time.Unix(rapid.Int64Range(-2_000_000_000, 250_000_000_000).Draw(rt, "seconds"), 999).In(time.FixedZone("", 3600))
		shown := func(layout string) string { return ">" + at.UTC().Format(layout) + "</time>" }
		got := part(t, `{{time .Data}}{{exact .Data}}`, at)
		want := fmt.Sprintf(` title="%s"`, at.UTC().Format("2006-01-02 15:04:05 UTC"))
		for _, want := range []string{want, shown("2 Jan 2006, 15:04 UTC"), shown("2 Jan 2006, 15:04:05 UTC")} {
			if !strings.Contains(got, want) {
				rt.Fatalf("no %s in %s", want, got)
			}
		}
	})
}
