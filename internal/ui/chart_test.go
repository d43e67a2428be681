package ui_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ui"
)

var unknown = math.NaN()

func TestChartOfBars(t *testing.T) {
	c := ui.Chart{ID: "sold", Title: "Sold <per day>", Labels: []string{"1 Nov", "2 Nov"}, Series: []ui.Series{
		{Name: "activated", Values: []float64{60, 0}}, {Name: "not activated", Values: []float64{20, unknown}},
	}}
	want := []ui.ChartShape{
		{Series: 1, X: "70", Width: "360", Y: "60", Height: "180", Title: "1 Nov: 60 activated"},
		{Series: 2, X: "70", Width: "360", Y: "0", Height: "60", Title: "1 Nov: 20 not activated"},
	}
	if diff := cmp.Diff(want, c.Shapes()); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	got := part(t, `{{template "chart" .Data}}`, c)
	wants(t, got, `<figcaption id="sold-title">Sold &lt;per day&gt;</figcaption>`, `<li class="bar c1">activated</li>`, `<li class="bar c2">not activated</li>`,
		`<svg role="img" aria-labelledby="sold-title" aria-describedby="sold-summary" viewBox="0 0 1000 240" preserveAspectRatio="none">`,
		`<rect class="c2" x="70" y="0" width="360" height="60"><title>1 Nov: 20 not activated</title></rect>`,
		`<span>80</span><span>40</span><span>0</span>`, `activated: at most 60 (1 Nov). not activated: at most 20 (1 Nov).`,
		// The table behind it.
		`<details>`, `<th scope="row">1 Nov</th><td class="number">60</td><td class="number">20</td>`, `<th scope="row">2 Nov</th><td class="number">0</td><td class="number">–</td>`)
	if strings.Contains(got, "style=") {
		t.Errorf("the chart has styles of its own:\n%s", got)
	}
}

func TestChartOfLines(t *testing.T) {
	c := ui.Chart{ID: "p", Title: "Latency", Lines: true, Unit: "ms", Labels: []string{"a", "b", "c", "d", "e"}, Series: []ui.Series{
		{Name: "p50", Values: []float64{10, 20, unknown, 30, unknown}}, {Name: "p95", Values: []float64{unknown, math.Inf(1)}},
	}}
	want := []ui.ChartShape{{Series: 1, Path: "M100 180L300 120M640 60H760", Title: "p50"}}
	if diff := cmp.Diff(want, c.Shapes()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	wants(t, part(t, `{{template "chart" .Data}}`, c), `<path class="c1" d="M100 180L300 120M640 60H760"><title>p50</title></path>`,
		`<li class="line c1">p50</li>`, "p50: at most 30 ms (d). p95: no data.", "<span>a</span><span>c</span><span>e</span>")
}

// TestChartLinks: the labels of the table have the given links, the others none.
func TestChartLinks(t *testing.T) {
	c := ui.Chart{ID: "n", Labels: []string{"1 Nov", "2 Nov"}, URLs: []string{"/list?from=1&to=2"}, Series: []ui.Series{{Name: "n", Values: []float64{1, 2}}}}
	wants(t, part(t, `{{template "chart" .Data}}`, c), `<th scope="row"><a href="/list?from=1&amp;to=2">1 Nov</a></th>`, `<th scope="row">2 Nov</th>`)
}

// TestChartMarks: the top is a round number, no smaller than any value.
func TestChartMarks(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0}, "2 1 0"},
		{[]float64{1}, "2 1 0"},
		{[]float64{3}, "4 2 0"},
		{[]float64{9}, "10 5 0"},
		{[]float64{10}, "10 5 0"},
		{[]float64{11}, "20 10 0"},
		{[]float64{61, 5}, "80 40 0"},
		{[]float64{1500}, "2,000 1,000 0"},
		{[]float64{.3}, "0.4 0.2 0"},
		{[]float64{-5}, "2 1 0"},
	} {
		chart := ui.Chart{Labels: make([]string, len(c.values)), Series: []ui.Series{{Values: c.values}}}
		if got := strings.Join(chart.Marks(), " "); got != c.want {
			t.Errorf("%v has the marks %s, want %s", c.values, got, c.want)
		}
	}
}

func TestChartWithoutData(t *testing.T) {
	for name, c := range map[string]ui.Chart{"no labels": {Series: []ui.Series{{}}}, "no series": {Labels: []string{"a"}}} {
		if got := part(t, `{{template "chart" .Data}}`, c); !strings.Contains(got, "There is no data for this time.") || strings.Contains(got, "<svg") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
