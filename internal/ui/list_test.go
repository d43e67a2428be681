package ui_test

import (
	"strings"
	"testing"

	"claviger/internal/ui"
)

// wants checks that a part contains all texts, with white space collapsed.
func wants(t *testing.T, got string, texts ...string) {
	t.Helper()
	got = strings.Join(strings.Fields(got), " ")
	for _, want := range texts {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestTable(t *testing.T) {
	got := part(t, `{{template "table" .Data}}`, ui.Table{
		ID: "deliveries", Caption: "Deliveries <now>", Columns: []ui.Column{{Label: "Event"}, {Label: "State"}, {Label: "License"}, {Label: "Attempts", Number: true}, {Label: "Time"}},
		Rows: []ui.Row{
			{ID: "d1", Cells: []ui.Cell{{Text: "purchase", URL: "/deliveries/1"}, {Status: "failed", Note: "timed <out>"}, {Text: "…ab", Code: true, URL: "/l/1"}, {Text: "3"}, {At: sold}}},
			{Cells: []ui.Cell{{Text: "refund", Acts: ui.Links(ui.RowLink{Label: "Send", Of: "<refund>", URL: "/s"})}, {Text: "", Note: "by hand"}, {}, {}, {}}},
		},
	})
	wants(t, got,
		`<div class="table-box" id="deliveries" role="region" aria-labelledby="deliveries-caption" tabindex="0">`, // scrollable by keyboard
		`<caption id="deliveries-caption">Deliveries &lt;now&gt;</caption>`, `<th scope="col" class="number">Attempts</th>`,
		`<tr id="d1"> <th scope="row"><a href="/deliveries/1" id="d1-link">purchase</a></th>`,
		`<td><span class="badge bad">Failed</span><span class="note">timed &lt;out&gt;</span></td>`, `<a href="/l/1"><code>…ab</code></a>`,
		`<td class="number">3</td>`, `15 Nov 2026, 06:05 UTC`, `<tr> <th scope="row">refund<span class="acts"><a href="/s">Send<span class="sr"> &lt;refund&gt;</span></a></span></th>`,
	)
}

func TestPager(t *testing.T) {
	got := part(t, `{{template "pager" .Data}}`, ui.Pager{Label: "Pages of deliveries", Showing: "51 to 100 of 120", Prev: "/d?page=1&x=1", Next: "/d?page=3"})
	wants(t, got, `<nav class="pager" aria-label="Pages of deliveries">`, `rel="prev" href="/d?page=1&amp;x=1"`, "51 to 100 of 120", `rel="next" href="/d?page=3"`)
	if got := part(t, `{{template "pager" .Data}}`, ui.Pager{}); strings.Contains(got, "<a") || !strings.Contains(got, `aria-label="Pages"`) {
		t.Errorf("a single page has links:\n%s", got)
	}
}

func TestTabs(t *testing.T) {
	got := part(t, `{{template "tabs" .Data}}`, ui.Tabs{Label: "Delivery", Items: []ui.Tab{{Label: "Request", URL: "/a", Current: true}, {Label: "Response", URL: "/b", Count: "2"}}})
	wants(t, got, `<nav class="tabs" aria-label="Delivery">`, `<a href="/a" aria-current="page">Request</a>`, `<a href="/b">Response <span class="count">2</span></a>`)
}

func TestTimeline(t *testing.T) {
	got := part(t, `{{template "timeline" .Data}}`, ui.Timeline{Label: "History", Entries: []ui.TimelineEntry{
		{At: sold, Title: "Sent", URL: "/e/1", Status: "failed", Text: "401 <no>"}, {At: sold, Title: "Rotated"},
	}})
	wants(t, got, `<ol class="timeline" aria-label="History">`, `<li class="bad">`, `<a href="/e/1">Sent</a> <span class="badge bad">Failed</span>`, "<p>401 &lt;no&gt;</p>",
		`<li class="neutral">`, `<p class="what">Rotated</p> </li>`, `<time datetime="2026-11-15T06:05:00Z" `)
}

func TestStats(t *testing.T) {
	got := part(t, `{{template "stats" .Data}}`, []ui.Stat{{Label: "Failed", Value: "8", Note: "all 401", URL: "/failed", Tone: "bad"}, {Label: "Sold", Value: "12"}})
	wants(t, got, `<dl class="stats">`, `<div class="stat bad"> <dt>Failed</dt> <dd><a href="/failed">8</a></dd> <dd class="note">all 401</dd> </div>`,
		`<div class="stat"> <dt>Sold</dt> <dd>12</dd> </div>`)
}

// TestCode: the text is selectable, once, and exact.
func TestCode(t *testing.T) {
	got := part(t, `{{template "code" .Data}}`, ui.Code{Label: "curl", Text: "curl 'x' \\\n  --data '<a>'"})
	if !strings.Contains(got, "<code>curl &#39;x&#39; \\\n  --data &#39;&lt;a&gt;&#39;</code>") || strings.Count(got, "--data") != 1 {
		t.Errorf("got\n%s", got)
	}
	wants(t, got, `<pre tabindex="0" role="region" aria-label="curl">`, `data-copy`, `<span class="sr"> curl</span>`)
}

func TestChoiceFields(t *testing.T) {
	for name, c := range map[string]struct {
		field ui.Field
		want  []string
	}{
		"select": {
			ui.Field{Name: "state", Label: "State", Type: "select", Value: "b", Required: true, Options: []ui.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "<B>"}}},
			[]string{`<label for="state">State</label>`, `<select id="state" name="state" required>`, `<option value="a">A</option>`, `<option value="b" selected>&lt;B&gt;</option>`},
		},
		"textarea": {
			ui.Field{Name: "body", Label: "Body", Type: "textarea", Value: "</textarea>", Rows: 9, Error: "No JSON."},
			[]string{`<textarea id="body" name="body" rows="9" aria-invalid="true" aria-describedby="body-error">&lt;/textarea&gt;</textarea>`, `id="body-error"`},
		},
		"textarea as usual": {ui.Field{Name: "body", Label: "Body", Type: "textarea"}, []string{`rows="4"></textarea>`}},
		"checkbox": {
			ui.Field{Name: "strict", Label: "Strict", Type: "checkbox", Checked: true, Hint: "Sure?", Error: "Tick it.", Required: true},
			[]string{
				`<input id="strict" name="strict" type="checkbox" value="yes" checked required aria-invalid="true" aria-describedby="strict-hint strict-error">`,
				`<label for="strict">Strict</label>`, `<p class="hint" id="strict-hint">`, `<p class="error" id="strict-error">`,
			},
		},
		"checkbox, empty": {ui.Field{Name: "strict", Label: "Strict", Type: "checkbox", Value: "on"}, []string{`value="on">`}},
	} {
		t.Run(name, func(t *testing.T) { wants(t, part(t, `{{template "field" .Data}}`, c.field), c.want...) })
	}
}

func TestFilters(t *testing.T) {
	f := ui.Filters{Label: "Filter calls", URL: "/calls", Fields: []ui.Field{{Name: "code", Label: "Code", Value: `a"b`}}}
	got := part(t, `{{template "filters" .Data}}`, f)
	wants(t, got, `<form class="filters" method="get" action="/calls" role="search" aria-label="Filter calls">`, `name="code"`, `value="a&#34;b"`, "Filter</button>")
	if strings.Contains(got, "Clear filters") {
		t.Error("filters that are not set can be cleared")
	}
	f.Active = true
	wants(t, part(t, `{{template "filters" .Data}}`, f), `href="/calls">Clear filters</a>`)
}

// TestFoldedFilters: folded filters are summarized and sent again, and an error is never hidden.
func TestFoldedFilters(t *testing.T) {
	f := ui.Filters{Label: "Filter calls", URL: "/calls", Fold: true, Fields: []ui.Field{
		{Name: "code", Label: "Code"},
		{Name: "state", Label: "State", Type: "select", Value: "b", Options: []ui.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "Bad <one>"}}},
		{Name: "id", Label: "Id", Value: "42"},
	}, Hidden: []ui.Param{{Name: "list", Value: "calls"}}}
	wants(t, part(t, `{{template "filters" .Data}}`, f), `<details class="fold"> <summary>Filters <span class="muted">State: Bad &lt;one&gt;, Id: 42</span></summary>`,
		`<form class="filters" method="get" action="/calls"`, `name="list" value="calls"`, `<option value="b" selected>`, `name="id" type="text" value="42"`)
	f.Fields[0].Error = "is no code."
	wants(t, part(t, `{{template "filters" .Data}}`, f), `<details class="fold" open>`)
}

// TestResults: an empty list gives the reason and a next step.
func TestResults(t *testing.T) {
	table := ui.Table{ID: "calls", Caption: "Calls", Lines: true, Columns: []ui.Column{{Label: "Call"}, {Label: "Took", Number: true, Wide: true}}}
	r := ui.Results{Filters: ui.Filters{URL: "/calls"}, Table: table, Nothing: ui.Empty{Title: "Nothing yet", Text: "Call."}}
	show := func() string { return part(t, `{{template "results" .Data}}`, r) }
	wants(t, show(), "Nothing yet")
	r.Filters.Active = true
	wants(t, show(), "Nothing matches", `href="/calls">Clear filters</a>`)
	r.SearchedTo, r.GoOn = sold, "/calls?after=1"
	wants(t, show(), "Nothing matches so far.", "Searched back to", "06:05:00 UTC", `href="/calls?after=1">Go on</a>`)
	r.Table.Rows = []ui.Row{{Cells: []ui.Cell{{Text: "one"}, {Text: "3 ms"}}}}
	r.Pager = ui.Pager{Label: "Pages of calls", Prev: "/calls"}
	got := show()
	wants(t, got, `<table class="data lines" role="table">`, `<td role="cell" class="number wide-only">3 ms</td>`, "Searched back to", `aria-label="Pages of calls"`)
	if strings.Contains(got, "Nothing") {
		t.Errorf("there is something:\n%s", got)
	}
}

// TestJob: a job shows its progress and the possible actions.
func TestJob(t *testing.T) {
	j := ui.Job{
		Status: "running", Text: "Sent 3 of 10 <events>.", Percent: ui.PercentDone(3, 10, false), Facts: []ui.JobFact{{Label: "Begun", At: sold, Text: "by Ada"}, {Label: "Partner", Text: "Tide", URL: "/tide"}},
		Controls: []ui.JobControl{{Action: "/job", Button: ui.Button{Label: "Pause", Name: "do", Value: "pause"}}}, Cancel: "/job/cancel",
	}
	wants(t, part(t, `{{template "job" .Data}}`, j), "Sent 3 of 10 &lt;events&gt;.", `<progress id="progress" max="100" value="30">`, "by Ada", `<a href="/tide">Tide</a>`,
		`<form method="post" action="/job"><button class="button primary" type="submit" name="do" value="pause">Pause</button></form>`, `href="/job/cancel"`)
	if p := ui.PercentDone(10, 10, false); p != 99 {
		t.Errorf("a job that is not finished is at %d %%", p)
	}
	if p := ui.PercentDone(0, 0, true) + ui.PercentDone(0, 0, false); p != 100 {
		t.Errorf("without rows: %d", p)
	}
	table := ui.JobsTable("Jobs", "Job", []string{"Done"}, []ui.JobRow{{ID: 7, Label: "Job 7", URL: "/7", Status: "done", Counts: []int64{1234}, By: "Ada", At: sold}})
	wants(t, part(t, `{{template "table" .Data}}`, table), `id="job-7-link"`, "1,234", "Ada")
}

// TestFilledTable: rows made while writing look like stored ones.
func TestFilledTable(t *testing.T) {
	rows := []ui.Row{
		{ID: "a", Cells: []ui.Cell{{Text: "first", URL: "/1"}, {Text: "x"}, {Text: "of three"}}},
		{Cells: []ui.Cell{{Text: "second"}}},
		{ID: "c", Cells: []ui.Cell{{Text: "third", Note: "note"}, {Status: "active"}}},
	}
	table := func(stored int) ui.Table {
		t := ui.Table{ID: "t", Caption: "Rows", Columns: []ui.Column{{Label: "A"}, {Label: "B"}}, Rows: rows[:stored]}
		rest := rows[stored:]
		t.Fill(len(rest), func(i int, r *ui.Row) { r.ID, r.Cells = rest[i].ID, append(r.Cells, rest[i].Cells...) })
		return t
	}
	for stored := range rows {
		if got, want := table(stored).HTML(), table(len(rows)).HTML(); got != want {
			t.Errorf("with %d stored rows it is\n%s\nand not\n%s", stored, got, want)
		}
		if got := table(stored).Len(); got != len(rows) {
			t.Errorf("with %d stored rows it has %d", stored, got)
		}
	}
}
