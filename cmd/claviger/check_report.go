package main

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/diagnose"
)

// checkLine is a check in the output of --json.
type checkLine struct {
	Check    string   `json:"check"`
	Step     string   `json:"step"`
	Verdict  string   `json:"verdict"`
	Text     string   `json:"text"`
	Do       []string `json:"do,omitempty"`
	Expected string   `json:"expected,omitempty"`
	TookMs   int64    `json:"took_ms"`
	Sent     string   `json:"sent,omitempty"`
	Answer   string   `json:"answer,omitempty"`

	// Signed has the text that each correct signature header signs.
	Signed map[string]string `json:"signed,omitempty"`
}

// checkReport collects the results and prints a line for each.
type checkReport struct {
	out, beside io.Writer
	asJSON      bool
	verbose     bool // shows requests, signatures and answers
	person      bool // reads standard output
	results     []diagnose.Result
	advice      string // the last advice that was printed
}

func newReport(cmd *cobra.Command, asJSON, verbose bool) *checkReport {
	return &checkReport{
		out: cmd.OutOrStdout(), beside: cmd.ErrOrStderr(), asJSON: asJSON, verbose: verbose,
		person: isTerminal(os.Stdout),
	}
}

// add adds a result.
func (r *checkReport) add(_ context.Context, result diagnose.Result) error {
	r.results = append(r.results, result)
	if r.asJSON {
		return nil
	}
	if err := r.line(result); err != nil || !r.verbose || result.Verdict == diagnose.Pass || result.Sent == "" {
		return err
	}
	text := "expected: " + result.Expected + "\n\nsent:\n" + result.Sent
	for _, s := range result.Signed {
		text += "\n\nsigned for " + s.Header + ":\n" + s.Text
	}
	text += "\n\nanswered:\n" + cmp.Or(result.Answer, "nothing") + "\n"
	_, err := io.WriteString(r.beside, indented(text)+"\n")
	return err
}

// indented indents a text of several lines.
func indented(s string) string {
	return "         " + strings.TrimRight(strings.ReplaceAll(s, "\n", "\n         "), " ")
}

// line writes the line of a result.
func (r *checkReport) line(result diagnose.Result) error {
	if !r.person {
		rows := [][]string{
			{
				string(result.Verdict), result.Scenario, result.Title, oneLine(result.Text),
				oneLine(strings.Join(result.Do, " ")),
			},
		}
		if len(r.results) == 1 {
			rows = append([][]string{{"verdict", "check", "step", "what came", "what to do"}}, rows...)
		}
		for _, row := range rows {
			if _, err := fmt.Fprintln(r.out, strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	text := fmt.Sprintf(
		"%s  %-60s %s\n", colored(string(result.Verdict), 7), result.Scenario+": "+result.Title,
		oneLine(result.Text),
	)
	advice := strings.Join(result.Do, "\n")
	if advice != "" && advice == r.advice {
		advice = r.advice
		result.Do = []string{"(as above)"}
	}
	r.advice = advice
	for _, do := range result.Do {
		text += indented(wrap(oneLine(do), helpWidth-11)) + "\n"
	}
	_, err := io.WriteString(r.out, text)
	return err
}

// skip adds a skipped check with the reason.
func (r *checkReport) skip(ctx context.Context, name, title, why, do string) error {
	return r.add(ctx, diagnose.Result{
		Scenario: name, Title: title, Verdict: diagnose.Skipped, Text: why, Do: []string{do}, At: app.Now(),
	})
}

// oneLine joins foreign text into one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// finish writes the final output and returns the verdict.
func (r *checkReport) finish(cmd *cobra.Command, junit string) error {
	counts := map[diagnose.Verdict]int{}
	lines := make([]checkLine, 0, len(r.results))
	for _, one := range r.results {
		counts[one.Verdict]++
		lines = append(lines, checkLine{
			one.Scenario, one.Title, string(one.Verdict), one.Text, one.Do, one.Expected,
			one.Took.Milliseconds(), one.Sent, one.Answer, signedTexts(one),
		})
	}
	if junit != "" {
		if err := writeJUnit(junit, r.results); err != nil {
			return err
		}
	}
	failed := verdict(r.results)
	note := ""
	if counts[diagnose.Fail] > 0 && !r.verbose {
		note = "--verbose shows what was sent, signed and answered\n"
	}
	err := answer{
		json: struct {
			Passed bool                     `json:"passed"`
			Counts map[diagnose.Verdict]int `json:"counts"`
			Checks []checkLine              `json:"checks"`
		}{failed == nil, counts, lines},
		note: note + fmt.Sprintf("%d passed, %d with a warning, %d failed, %d skipped\n",
			counts[diagnose.Pass], counts[diagnose.Warn], counts[diagnose.Fail], counts[diagnose.Skipped]),
	}.print(cmd, r.asJSON)
	return cmp.Or(err, failed)
}

// signedTexts returns the texts that the headers of a request sign.
func signedTexts(r diagnose.Result) map[string]string {
	texts := make(map[string]string, len(r.Signed))
	for _, s := range r.Signed {
		texts[s.Header] = s.Text
	}
	return texts
}

// The JUnit format, for continuous integration.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure"`
		Skipped *junitWhy `xml:"skipped"`
		Output  string    `xml:"system-out,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the results, a suite per scenario. A warning is a passed case with output.
func writeJUnit(file string, results []diagnose.Result) error {
	all := junitSuites{Name: "claviger check"}
	for _, r := range results {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != r.Scenario {
			all.Suites = append(all.Suites, junitSuite{Name: r.Scenario, Timestamp: stamp(r.At)})
		}
		suite := &all.Suites[len(all.Suites)-1]
		one := junitCase{Class: "claviger." + r.Scenario, Name: r.Title, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
		do := strings.Join(r.Do, "\n")
		switch r.Verdict {
		case diagnose.Fail:
			one.Failure = &junitWhy{
				r.Text,
				do + "\n\nsent:\n" + cmp.Or(r.Sent, "nothing") + "\n\nanswered:\n" + cmp.Or(r.Answer, "nothing"),
			}
			suite.Failures++
			all.Failures++
		case diagnose.Skipped:
			one.Skipped = &junitWhy{r.Text, do}
			suite.Skipped++
			all.Skipped++
		case diagnose.Warn:
			one.Output = "warning: " + r.Text + "\n" + do
		case diagnose.Pass:
		}
		suite.Tests++
		all.Tests++
		suite.Cases = append(suite.Cases, one)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	// It contains requests with their signatures, so only the owner may read it.
	if err := os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o600); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}
