package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

// words describes the expected answer.
func (x expectation) words(strict bool) string {
	delivered := `any 2xx without "success": false`
	if strict {
		delivered = `200 with "success": true`
	}
	switch x {
	case refused:
		return `a refusal: 401, or "success": false`
	case betterNot:
		return `a refusal, such as 401; accepting it is a warning`
	case quick:
		return fmt.Sprintf(
			"%s within %s; a warning up to %s, and a failure beyond",
			delivered,
			QuickAnswer,
			courier.Timeout,
		)
	case page:
		return fmt.Sprintf("200, within %s", courier.Timeout)
	case noError:
		return fmt.Sprintf("any answer but 5xx, within %s", courier.Timeout)
	case accepted, proves:
	}
	return fmt.Sprintf("%s, within %s", delivered, courier.Timeout)
}

// judge compares the replies to a step with the expectation, and shows the worst of them.
func (p *play) judge(result *diagnose.Result, s step, replies []diagnose.Result) {
	worst := replies[0]
	for _, r := range replies[1:] {
		if worse(r, worst) {
			worst = r
		}
	}
	*result = worst
	p.SkipUnanswered(result)
	if result.Answer == "" {
		return
	}
	switch s.expect {
	case refused, betterNot:
		judgeRefusal(result, s)
	case accepted, proves, quick:
		p.judgeDelivery(result, s)
	case page, noError: // not posted; see visit
	}
	if s.many > 1 {
		result.Text += "; " + times(replies)
	}
}

// worse reports whether a is worse than b: no answer, not delivered, or slower.
func worse(a, b diagnose.Result) bool {
	rank := func(r diagnose.Result) int {
		switch {
		case r.Answer == "":
			return 2
		case !r.Delivered:
			return 1
		}
		return 0
	}
	if x, y := rank(a), rank(b); x != y {
		return x > y
	}
	return a.Took > b.Took
}

// judgeDelivery judges a step that must be delivered.
func (p *play) judgeDelivery(result *diagnose.Result, s step) {
	p.delivered = p.delivered || result.Delivered
	switch {
	case !result.Delivered:
		result.Do = p.advice(s, result.Reply.Status, result.Do)
	case s.expect == quick && result.Took > QuickAnswer:
		result.Verdict = diagnose.Warn
		result.Text = "it was delivered, but the answer took " + round(result.Took)
		result.Do = []string{s.do}
	case s.expect == quick && result.Verdict == diagnose.Pass:
		result.Text += "; the answer took " + round(result.Took)
	}
}

// advice returns advice on a step that was not delivered. Advice about the partner's code is given
// only if the step reached it.
func (p *play) advice(s step, status int, likely []string) []string {
	moved := status >= 300 && status < 400
	refused := slices.Contains([]int{400, 401, 403, 422}, status) && !p.delivered
	switch {
	case (moved || refused && (status == 401 || status == 403)) && s.expect != proves:
		return likely
	case moved || refused: // the URL or the signature is the likelier cause
		return slices.Concat(likely, []string{s.do})
	}
	return slices.Concat([]string{s.do}, likely)
}

// judgeRefusal judges a step that must not be delivered.
func judgeRefusal(result *diagnose.Result, s step) {
	why := result.Text
	status := result.Reply.Status
	switch {
	case result.Delivered && s.expect == betterNot:
		result.Verdict = diagnose.Warn
		result.Text = "it was accepted, and should not be"
		result.Do = []string{s.do}
	case result.Delivered:
		result.Verdict = diagnose.Fail
		result.Text = "it was accepted, and must not be"
		result.Do = []string{s.do}
	case status < 300 || status >= 400 && status < 500:
		result.Verdict = diagnose.Pass
		result.Text = "it was refused, as it should be: " + why
		result.Do = nil
	default:
		result.Verdict = diagnose.Warn
		result.Text = "it was refused, but not as it should be: " + why
		result.Do = []string{"Answer 401 to such a post: as it is, your server fails over it, or sends it elsewhere."}
	}
}

// times lists the durations of several answers, the quickest first.
func times(replies []diagnose.Result) string {
	took := make([]time.Duration, len(replies))
	for i, r := range replies {
		took[i] = r.Took
	}
	slices.Sort(took)
	words := make([]string, len(took))
	for i, d := range took {
		words[i] = round(d)
	}
	return "they took " + strings.Join(words, ", ")
}

func round(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds()) // String formats zero as 0s
}
