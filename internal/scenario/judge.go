package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/courier"
)

// words say what is expected of the answer.
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
		return fmt.Sprintf("%s within %s; a warning up to %s, and a failure beyond", delivered, QuickAnswer, courier.Timeout)
	case page:
		return fmt.Sprintf("200, within %s", courier.Timeout)
	case noError:
		return fmt.Sprintf("any answer but 5xx, within %s", courier.Timeout)
	case accepted, proves:
	}
	return fmt.Sprintf("%s, within %s", delivered, courier.Timeout)
}

// judge compares the replies to a step with what is expected, and shows the worst of
// them.
func (p *play) judge(result *Result, s step, replies []reply) {
	worst := replies[0]
	for _, r := range replies[1:] {
		if p.worse(r, worst) {
			worst = r
		}
	}
	p.show(result, worst)
	if worst.err != nil {
		p.unanswered(result, worst.err)
		return
	}
	ok, why := courier.Delivered(worst.answer.Status, worst.answer.Body, p.Target.Strict)
	switch s.expect {
	case refused, betterNot:
		p.judgeRefusal(result, s, worst.answer, ok, why)
	case accepted, proves, quick:
		p.judgeDelivery(result, s, worst, ok, why)
	case page, noError: // are not posted; see visit
	}
	if s.many > 1 {
		result.Text += "; " + times(replies)
	}
}

// unanswered is a step that got no HTTP answer.
func (p *play) unanswered(result *Result, err error) {
	p.silent = true
	result.Verdict, result.Text = Fail, courier.Explain(err)
	result.Cause = courier.CauseOf(result.Text)
	if errors.Is(err, errBound) {
		result.Text = errBound.Error() + ", so it was ended"
	}
	if remedy := courier.Remedy(err); remedy != "" {
		result.Do = []string{remedy}
	}
}

// worse reports whether a is worse than b: no answer, not delivered, or slower.
func (p *play) worse(a, b reply) bool {
	rank := func(r reply) int {
		if r.err != nil {
			return 2
		}
		if ok, _ := courier.Delivered(r.answer.Status, r.answer.Body, p.Target.Strict); !ok {
			return 1
		}
		return 0
	}
	if x, y := rank(a), rank(b); x != y {
		return x > y
	}
	return a.took > b.took
}

// judgeDelivery judges a step that must be delivered.
func (p *play) judgeDelivery(result *Result, s step, r reply, ok bool, why string) {
	likely := p.signer.Likely(r.answer, p.Target.Strict)
	p.delivered = p.delivered || ok
	switch {
	case !ok:
		result.Verdict, result.Text = Fail, why
		result.Do = p.advice(s, r.answer.Status, likely)
	case s.expect == quick && r.took > QuickAnswer:
		result.Verdict, result.Text = Warn, "it was delivered, but the answer took "+round(r.took)
		result.Do = []string{s.do}
	case len(likely) > 0:
		result.Verdict, result.Text, result.Do = Warn, "it was delivered", likely
	default:
		result.Verdict, result.Text = Pass, "it was delivered"
		if s.expect == quick {
			result.Text += "; the answer took " + round(r.took)
		}
	}
}

// advice is what to do about a step that was not delivered. What only steps that reach the
// partner's code can do wrong is said of those alone.
func (p *play) advice(s step, status int, likely []string) []string {
	moved, refused := status >= 300 && status < 400, refusesSignature(status) && !p.delivered
	switch {
	case (moved || refused && (status == 401 || status == 403)) && s.expect != proves:
		return likely
	case moved || refused: // it is rather the URL or the signature than this step
		return slices.Concat(likely, []string{s.do})
	}
	return slices.Concat([]string{s.do}, likely)
}

// judgeRefusal judges a step that must not be delivered.
func (p *play) judgeRefusal(result *Result, s step, a courier.Answer, ok bool, why string) {
	switch {
	case ok && s.expect == betterNot:
		result.Verdict, result.Text, result.Do = Warn, "it was accepted, and should not be", []string{s.do}
	case ok:
		result.Verdict, result.Text, result.Do = Fail, "it was accepted, and must not be", []string{s.do}
	case a.Status < 300 || a.Status >= 400 && a.Status < 500:
		result.Verdict, result.Text = Pass, "it was refused, as it should be: "+why
	default:
		result.Verdict, result.Text = Warn, "it was refused, but not as it should be: "+why
		result.Do = []string{"Answer 401 to such a post: as it is, your server fails over it, or sends it elsewhere."}
	}
}

// refusesSignature reports whether a status is usual for a signature that is wrong.
func refusesSignature(status int) bool { return slices.Contains([]int{400, 401, 403, 422}, status) }

// times are the durations of several answers, the quickest first.
func times(replies []reply) string {
	took := make([]time.Duration, len(replies))
	for i, r := range replies {
		took[i] = r.took
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
	return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds()) // String calls nothing 0s
}
