// Package scenario plays named courses of events against a partner's webhook endpoint,
// calls its redirect URL, and judges the answers, step by step. It owns the list of scenarios, what each expects,
// and the verdicts.
//
// It has no database: a caller stores the results and the test licenses if it wants to.
// Whoever has a URL, a secret and a brand can run it.
package scenario

import (
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
)

// The names of the scenarios. Programs depend on them: they never change.
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

// Verdict is what a step came to.
type Verdict string

// The verdicts, from the best to the worst.
const (
	Pass    Verdict = "pass"
	Warn    Verdict = "warn"    // deliveries work, but something should be mended
	Skipped Verdict = "skipped" // it was not sent, because of what came before it
	Fail    Verdict = "fail"
)

var order = []Verdict{"", Pass, Warn, Skipped, Fail}

// Worst is the worst of verdicts; "" if there is none.
func Worst(verdicts ...Verdict) Verdict {
	var worst Verdict
	for _, v := range verdicts {
		if slices.Index(order, v) > slices.Index(order, worst) {
			worst = v
		}
	}
	return worst
}

// Scenario is a course of events and what the endpoint has to answer.
type Scenario struct {
	Name  string
	Title string
	About string // what it shows, and why that matters
	steps []step
}

// All is every scenario of a webhook URL, in the order in which they are run together.
func All() []Scenario { return slices.Clone(all) }

// ByName finds a scenario.
func ByName(name string) (Scenario, bool) {
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// Steps is how many steps the scenario has, each with one result.
func (s Scenario) Steps() int { return len(s.steps) }

// Events is how many event ids the scenario uses.
func (s Scenario) Events() int64 {
	var n int64
	for _, st := range s.steps {
		if st.again == 0 {
			n += int64(st.count())
		}
	}
	return n
}

// Result is one step: what was expected, what was sent, what was answered, and what to
// do about it.
type Result struct {
	Scenario string
	Title    string
	Expected string
	Verdict  Verdict
	Text     string   // what came of it, in words
	Do       []string // what to do about it, the likeliest first
	Sent     string   // request line, headers and body; "" if it was skipped
	Signed   []fault.Signature
	Answer   string // status, headers and body, cut to size; "" when none came
	At       time.Time
	Took     time.Duration // from sending the request until the answer was read
	Cause    courier.Cause // why there was no HTTP answer; "" if one came, or nothing was sent
}

// License is a test license as the last event left it.
type License struct {
	Key       string
	Status    string
	Tier      int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Tier is one of the plans that the events are about.
type Tier struct {
	Number int
	Name   string
}

// testTiers stand in for plans that the caller does not name.
var testTiers = []Tier{{1, courier.TestPlan}, {2, "Larger test plan"}}

// tiers are two plans, of which the second is the larger one.
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
