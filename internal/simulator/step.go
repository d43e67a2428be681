package simulator

import (
	"encoding/json"
	"fmt"
	"time"

	"claviger/internal/diagnose"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// storedStep is a step as stored. Its member names are in the database: they never change.
type storedStep struct {
	Scenario string           `json:"scenario"`
	Title    string           `json:"title"`
	Expected string           `json:"expected"`
	Verdict  diagnose.Verdict `json:"verdict"`
	Text     string           `json:"text"`
	Do       []string         `json:"do,omitempty"`
	Sent     string           `json:"sent,omitempty"`
	Signed   []storedText     `json:"signed,omitempty"`
	Answer   string           `json:"answer,omitempty"`
	At       time.Time        `json:"at"`
	Took     time.Duration    `json:"took_ns"`
}

type storedText struct {
	Header string `json:"header"`
	Text   string `json:"text"`
}

func stored(r diagnose.Result) storedStep {
	s := storedStep{
		Scenario: r.Scenario, Title: r.Title, Expected: r.Expected, Verdict: r.Verdict, Text: r.Text, Do: r.Do,
		Sent: r.Sent, Answer: r.Answer, At: r.At, Took: r.Took,
	}
	for _, text := range r.Signed {
		s.Signed = append(s.Signed, storedText(text))
	}
	return s
}

func scanStep(row *sqldb.Row, r *diagnose.Result) error {
	var text string
	if err := row.Scan(&text); err != nil {
		return err
	}
	var s storedStep
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("read a step: %w", err)
	}
	*r = diagnose.Result{
		Scenario: s.Scenario, Title: s.Title, Expected: s.Expected, Verdict: s.Verdict, Text: s.Text, Do: s.Do,
		Sent: s.Sent, Answer: s.Answer, At: s.At, Took: s.Took,
	}
	for _, text := range s.Signed {
		r.Signed = append(r.Signed, fault.Signature(text))
	}
	return nil
}
