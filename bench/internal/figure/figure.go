// Package figure turns rounds of measurements into the rows of the benchmarks' table: medians of
// ratios, compared with a goal.
package figure

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Median returns the median of values, or 0 of none.
func Median(values []float64) float64 { return quantile(values, 0.5) }

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Rounds are alternating measurements of ours and the yardstick, round by round.
type Rounds struct {
	Ours, Yardstick []float64
}

// Add adds a round.
func (r *Rounds) Add(ours, yardstick float64) {
	r.Ours = append(r.Ours, ours)
	r.Yardstick = append(r.Yardstick, yardstick)
}

// Turns runs a and b n times in turns, alternating the order, and collects their results.
// Disturbances of the machine thus affect both.
func Turns(n int, a, b func() (float64, error)) (Rounds, error) {
	var r Rounds
	for i := range n {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		x, err := first()
		if err != nil {
			return r, err
		}
		y, err := second()
		if err != nil {
			return r, err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		r.Add(x, y)
	}
	return r, nil
}

// ratios returns ours by yardstick of each round.
func (r Rounds) ratios() []float64 {
	list := make([]float64, len(r.Ours))
	for i := range list {
		if r.Yardstick[i] > 0 {
			list[i] = r.Ours[i] / r.Yardstick[i]
		}
	}
	return list
}

// Row is one line of the table.
type Row struct {
	Case      string
	Database  string
	Ours      string // with its unit
	Yardstick string // likewise; the reference of the ratio
	Value     float64
	Unit      string // of the value; "" for a ratio or a number
	Shown     string // the printed value
	Rounds    Rounds // the rounds behind the value, which is their median; may be empty
	RoundUnit string // of the figures in them
	Goal      Goal
	Noise     float64 // share of the machine that others used; negative: unknown
}

// Goal is a limit for a value. The zero Goal has none: the value is only recorded.
type Goal struct {
	sign  string
	bound float64
	unit  string
}

// AtLeast returns the goal of a value not below bound.
func AtLeast(bound float64, unit string) Goal { return Goal{"≥", bound, unit} }

// AtMost returns the goal of a value not above bound.
func AtMost(bound float64, unit string) Goal { return Goal{"≤", bound, unit} }

func (g Goal) String() string {
	if g.sign == "" {
		return "recorded"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %v %s", g.sign, g.bound, g.unit))
}

// Verdict returns "yes" or "no", or "" without a goal.
func (r Row) Verdict() string {
	switch {
	case r.Goal.sign == "":
		return ""
	case r.Goal.sign == "≥" && r.Value >= r.Goal.bound, r.Goal.sign == "≤" && r.Value <= r.Goal.bound:
		return "yes"
	default:
		return "no"
	}
}

// Unit is the unit of rounds.
type Unit struct {
	Name string               // as Go's benchmarks write it
	Show func(float64) string // with the unit
}

// Compare returns the row of rounds; the goal determines whether more is better.
func Compare(name, database string, r Rounds, unit Unit, goal Goal, noise float64) Row {
	ratios := r.ratios()
	return Row{
		Case: name, Database: database, Goal: goal, Noise: noise, Value: Median(ratios), Rounds: r,
		RoundUnit: unit.Name,
		Ours:      unit.Show(Median(r.Ours)), Yardstick: unit.Show(Median(r.Yardstick)),
		Shown: fmt.Sprintf("**%.2f** (%.2f–%.2f)", Median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)),
	}
}

// Single returns the row of one measured value, of a number of things.
func Single(name, database, of string, value float64, format, unit string, goal Goal, noise float64) Row {
	return Row{
		Case: name, Database: database, Ours: of, Yardstick: "–", Value: value, Unit: unit, Goal: goal, Noise: noise,
		Shown: "**" + strings.TrimSpace(fmt.Sprintf(format, value)+" "+unit) + "**",
	}
}

// Print writes rows as a Markdown table.
func Print(w io.Writer, rows []Row) error {
	lines := [][]string{{"what", "database", "ours", "yardstick", "ratio (quartiles)", "goal", "reached", "noise"}}
	for _, r := range rows {
		noise := "–"
		if r.Noise >= 0 {
			noise = fmt.Sprintf("%.0f %%", 100*r.Noise)
		}
		lines = append(lines, []string{
			r.Case, r.Database, r.Ours, r.Yardstick, r.Shown, r.Goal.String(), r.Verdict(), noise,
		})
	}
	for i, line := range lines {
		if _, err := fmt.Fprintln(w, "| "+strings.Join(line, " | ")+" |"); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintln(w, strings.Repeat("|---", len(line))+"|"); err != nil {
				return err
			}
		}
	}
	return nil
}
