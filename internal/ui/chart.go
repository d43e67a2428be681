package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/money"
	"claviger/internal/plural"
)

// Chart is a chart drawn by the server, with a table behind it, for the part "chart".
type Chart struct {
	ID       string // unique on the page
	Title    string
	Lines    bool     // lines; otherwise stacked bars
	Unit     string   // of all numbers, such as "ms"; "" for counts
	Currency string   // of all numbers, in its smallest unit; "": they are not money
	Labels   []string // on the bottom axis, one per value
	URLs     []string // targets of the labels in the table; may be empty
	Series   []Series // at most four
}

// Series is one line, or the bars of one colour. NaN is an unknown value: a gap in a line.
type Series struct {
	Name   string
	Values []float64
}

// Size of the drawing, which is stretched to fit. All text is outside, so it is not stretched.
const (
	chartWidth  = 1000.0
	chartHeight = 240.0
)

// ChartShape is one bar or line.
type ChartShape struct {
	Series              int // from 1
	X, Y, Width, Height string
	Path                string
	Title               string
}

// Empty reports whether there is nothing to draw.
func (c Chart) Empty() bool { return len(c.Labels) == 0 || len(c.Series) == 0 }

// value returns a value of a series, NaN if it is missing.
func (s Series) value(i int) float64 {
	if i >= len(s.Values) || math.IsInf(s.Values[i], 0) {
		return math.NaN()
	}
	return s.Values[i]
}

// top returns the number at the top of the chart: round, and at least as large as every line or
// stack of bars.
func (c Chart) top() float64 {
	highest := 0.0
	whole := true
	for i := range c.Labels {
		sum := 0.0
		for _, s := range c.Series {
			v := s.value(i)
			if math.IsNaN(v) {
				continue
			}
			whole = whole && v == math.Trunc(v)
			highest = max(highest, v)
			sum += max(v, 0)
		}
		if !c.Lines {
			highest = max(highest, sum)
		}
	}
	if highest <= 2 && whole {
		return 2 // keeps the middle mark a whole number
	}
	if highest == 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 2, 4, 6, 8} {
		if step*base >= highest {
			return step * base
		}
	}
	return 10 * base
}

// Marks returns the numbers beside the chart, from the top down.
func (c Chart) Marks() []string {
	top := c.top()
	return []string{c.number(top), c.number(top / 2), c.number(0)}
}

// Ends returns the labels below the chart that always fit.
func (c Chart) Ends() []string {
	n := len(c.Labels)
	if n < 3 {
		return c.Labels
	}
	return []string{c.Labels[0], c.Labels[n/2], c.Labels[n-1]}
}

// ViewBox returns the size of the drawing.
func (c Chart) ViewBox() string { return fmt.Sprintf("0 0 %g %g", chartWidth, chartHeight) }

// Shapes returns the bars or lines.
func (c Chart) Shapes() []ChartShape {
	if c.Lines {
		return c.paths()
	}
	return c.bars()
}

// height returns the distance of a number from the bottom.
func (c Chart) height(v float64) float64 { return max(v, 0) / c.top() * chartHeight }

func (c Chart) bars() []ChartShape {
	var list []ChartShape
	slot := chartWidth / float64(len(c.Labels))
	for i, label := range c.Labels {
		below := 0.0
		for k, s := range c.Series {
			v := s.value(i)
			if math.IsNaN(v) || v <= 0 {
				continue
			}
			h := c.height(v)
			list = append(list, ChartShape{
				Series: k + 1, X: coordinate((float64(i) + .14) * slot), Width: coordinate(.72 * slot),
				Y: coordinate(
					chartHeight - below - h,
				), Height: coordinate(h), Title: label + ": " + c.number(v) + " " + s.Name,
			})
			below += h
		}
	}
	return list
}

func (c Chart) paths() []ChartShape {
	var list []ChartShape
	slot := chartWidth / float64(len(c.Labels))
	for k, s := range c.Series {
		var path strings.Builder
		command := "M"
		single := true
		for i := range c.Labels {
			v := s.value(i)
			if math.IsNaN(v) {
				command = "M"
				single = true
				continue
			}
			x := (float64(i) + .5) * slot
			y := chartHeight - c.height(v)
			if command == "M" && (i+1 == len(c.Labels) || math.IsNaN(s.value(i+1))) && single {
				// A value between gaps would be a line of length 0.
				fmt.Fprintf(&path, "M%s %sH%s", coordinate(x-.3*slot), coordinate(y), coordinate(x+.3*slot))
				continue
			}
			path.WriteString(command + coordinate(x) + " " + coordinate(y))
			command = "L"
			single = false
		}
		if path.Len() > 0 {
			list = append(list, ChartShape{Series: k + 1, Path: path.String(), Title: s.Name})
		}
	}
	slices.Reverse(list) // draws the first series last, on top
	return list
}

// coordinate formats a coordinate.
func coordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Summary describes the chart in words, for people who cannot see it.
func (c Chart) Summary() string {
	var list []string
	for _, s := range c.Series {
		best := -1
		for i := range c.Labels {
			if v := s.value(i); !math.IsNaN(v) && (best < 0 || v > s.value(best)) {
				best = i
			}
		}
		if best < 0 {
			list = append(list, s.Name+": no data.")
			continue
		}
		list = append(list, fmt.Sprintf("%s: at most %s (%s).", s.Name, c.number(s.value(best)), c.Labels[best]))
	}
	return strings.Join(list, " ")
}

// URL returns the target of a label, "" for none.
func (c Chart) URL(i int) string {
	if i >= len(c.URLs) {
		return ""
	}
	return c.URLs[i]
}

// Row returns the numbers of one label, for the table.
func (c Chart) Row(i int) []string {
	list := make([]string, len(c.Series))
	for k, s := range c.Series {
		list[k] = c.number(s.value(i))
	}
	return list
}

// number formats a number with its unit, "–" if unknown.
func (c Chart) number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if c.Currency != "" {
		return money.Text(int64(math.Round(v)), c.Currency)
	}
	text := strconv.FormatFloat(math.Round(math.Abs(v)*10)/10, 'f', -1, 64)
	whole, rest, found := strings.Cut(text, ".")
	if n, err := strconv.ParseUint(whole, 10, 64); err == nil {
		whole = plural.Grouped(n)
	}
	if found {
		whole += "." + rest
	}
	if v < 0 {
		whole = "−" + whole
	}
	if c.Unit != "" {
		whole += "\u00a0" + c.Unit
	}
	return whole
}

// countOf formats a number with its noun.
func countOf(n any, one string, many ...string) (string, error) {
	switch n := n.(type) {
	case int:
		return plural.Of(n, one, many...), nil
	case int64:
		return plural.Of(n, one, many...), nil
	}
	return "", fmt.Errorf("plural of %T", n)
}

// inc makes templates count from 1.
func inc(i int) int { return i + 1 }
