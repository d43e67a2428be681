// Package scenario sends sequences of events to a partner's webhook endpoint, calls its redirect
// URL, and judges the answers, step by step. It owns the list of scenarios and their expectations.
// Package diagnose runs the steps.
//
// It has no database: a caller may store the results and the test licenses. It needs only a URL, a
// secret and a brand.
package scenario

import (
	"slices"
	"time"

	"claviger/internal/diagnose"
)

// The names of the scenarios. Clients depend on them: they never change.
const (
	Journey        = "journey"
	Plan           = "plan"
	Refund         = "refund"
	RefundReversed = "refund-reversed"
	Reactivation   = "reactivation"
	Duplicate      = "duplicate"
	Older          = "older"
	UnknownLicense = "unknown-license"
	UnknownMember  = "unknown-member"
	WrongSignature = "wrong-signature"
	OldTimestamp   = "old-timestamp"
	Slow           = "slow"
	Redirect       = "redirect" // of a redirect URL; see RedirectURL
)

// Scenario is a sequence of events with the expected answers.
type Scenario struct {
	Name  string
	Title string
	About string // its purpose and importance
	steps []step
}

// All returns every scenario of a webhook URL, in the order of a common run.
func All() []Scenario { return slices.Clone(all) }

// ByName finds a scenario.
func ByName(name string) (Scenario, bool) {
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// Steps returns the number of steps, each with one result.
func (s Scenario) Steps() int { return len(s.steps) }

// Events returns the number of event ids that the scenario uses.
func (s Scenario) Events() int64 {
	var n int64
	for _, st := range s.steps {
		if st.again == 0 {
			n += int64(st.count())
		}
	}
	return n
}

// License is a test license as the last event left it.
type License struct {
	Key       string
	Status    string
	Tier      int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Tier is a plan for the events.
type Tier struct {
	Number int
	Name   string
}

// testTiers replaces plans that the caller does not name.
var testTiers = []Tier{{1, diagnose.TestPlan}, {2, "Larger test plan"}}

// tiers returns two plans, the larger one second.
func tiers(own []Tier) []Tier {
	own = slices.Clone(own)
	slices.SortFunc(own, func(a, b Tier) int { return a.Number - b.Number })
	switch len(own) {
	case 0:
		return testTiers
	case 1:
		return append(own, Tier{own[0].Number + 1, testTiers[1].Name})
	}
	return own[:2]
}
