package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/scenario"
)

// TestAGoodApplicationPassesEverything: the handler of docs/webhooks.md meets all expectations.
func TestAGoodApplicationPassesEverything(t *testing.T) {
	a := &application{}
	r := runner(t, a)
	var after []diagnose.Result
	r.After = func(_ context.Context, result diagnose.Result) error {
		after = append(after, result)
		return nil
	}
	results, err := r.Run(t.Context(), scenario.All()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if result.Verdict != diagnose.Pass || result.Text == "" || result.Expected == "" || len(result.Do) > 0 {
			t.Errorf("%s, %s: %s %q %q", result.Scenario, result.Title, result.Verdict, result.Text, result.Do)
		}
	}
	if diff := cmp.Diff(results, after); diff != "" {
		t.Errorf("what After saw (-results +after):\n%s", diff)
	}
	var events int64
	ids := map[int64]bool{}
	for _, s := range scenario.All() {
		events += s.Events()
	}
	for _, e := range a.posts {
		ids[e.ID] = true
		if !e.Test || e.ID0 != fmt.Sprintf("evt_%d", e.ID) {
			t.Errorf("post %s of %s: test %v", e.ID0, e.Body, e.Test)
		}
	}
	for i := range events {
		if !ids[noon.Unix()+i] {
			t.Errorf("no event has the id %d", noon.Unix()+i)
		}
	}
	if int64(len(ids)) != events {
		t.Errorf("%d ids, want %d", len(ids), events)
	}
}

// TestBodies: the events that the license scenarios send, in order.
func TestBodies(t *testing.T) {
	for name, want := range map[string][]string{
		scenario.Journey:        {"purchase inactive 1 purchased", "activate active 1 redeemed", "deactivate deactivated 1 refunded"},
		scenario.Plan:           {"purchase inactive 1 purchased", "activate active 1 redeemed", "activate active 2 plan_changed from 1", "activate active 1 plan_changed from 2"},
		scenario.Refund:         {"purchase inactive 1 purchased", "activate active 1 redeemed", "deactivate deactivated 1 refunded"},
		scenario.RefundReversed: {"purchase inactive 1 purchased", "activate active 1 redeemed", "deactivate deactivated 1 refunded", "activate active 1 refund_reversed"},
		scenario.Reactivation:   {"purchase inactive 1 purchased", "activate active 1 redeemed", "deactivate deactivated 1 released", "activate active 1 redeemed"},
		scenario.UnknownLicense: {"activate active 1 redeemed", "deactivate deactivated 1 refunded"},
	} {
		a := &application{}
		run(t, runner(t, a), name)
		var got []string
		keys := map[string]bool{}
		for i, e := range a.posts {
			text := fmt.Sprintf("%s %s %d %s", e.Kind, e.Status, e.Tier, e.Reason)
			if e.Before != 0 {
				text += fmt.Sprintf(" from %d", e.Before)
			}
			got = append(got, text)
			keys[e.Key] = true
			if i > 0 && (e.ID <= a.posts[i-1].ID || e.At <= a.posts[i-1].At) {
				t.Errorf("%s: event %d does not come after the one before: %s", name, i+1, e.Body)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if licenses := map[bool]int{true: 2, false: 1}[name == scenario.UnknownLicense]; len(keys) != licenses {
			t.Errorf("%s: %d licenses, want %d", name, len(keys), licenses)
		}
	}
	a := &application{}
	run(t, runner(t, a), scenario.Journey)
	first := a.posts[0].Key
	if run(t, runner(t, a), scenario.Journey); a.posts[3].Key == first {
		t.Error("two runs use the same license")
	}
}

// TestMistakesAreFound: each scenario fails for an application that makes its mistake, and gives
// advice.
func TestMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		app      *application
		scenario string
		want     string // the verdicts
		do       string // part of the advice
	}{
		"refuses a repeat":             {&application{refusesTwice: true}, scenario.Duplicate, "pass fail pass fail", "got lost"},
		"refuses an older event":       {&application{refusesOlder: true}, scenario.Older, "pass pass pass fail", "Ignore an event_id that is lower"},
		"refuses an unknown license":   {&application{refusesUnknown: true}, scenario.UnknownLicense, "fail fail", "insert what you do not know"},
		"refuses an unknown member":    {&application{strictSchema: true}, scenario.UnknownMember, "pass fail", "ignore those that you do not know"},
		"verifies nothing":             {&application{verifiesNothing: true}, scenario.WrongSignature, "pass fail fail fail pass", "Anybody who knows the URL"},
		"accepts a missing signature":  {&application{acceptsUnsigned: true}, scenario.WrongSignature, "pass fail pass pass pass", "Anybody who knows the URL"},
		"signs the body alone":         {&application{bodyOnly: true}, scenario.WrongSignature, "pass pass pass fail pass", "must cover the timestamp"},
		"fails over a wrong signature": {&application{fails: true}, scenario.WrongSignature, "pass warn warn warn pass", "Answer 401"},
		"keeps old posts":              {&application{keepsOld: true}, scenario.OldTimestamp, "warn pass", "five minutes"},
		"refuses all": {&application{answer: func(w http.ResponseWriter, _ event) bool {
			w.WriteHeader(403)
			return true
		}}, scenario.WrongSignature, "fail pass pass pass fail", "rejected the request as unauthorized"},
		"redirects strangers": {&application{answer: func(w http.ResponseWriter, e event) bool {
			w.Header().Set("Location", "/login")
			w.WriteHeader(302)
			return true
		}}, scenario.OldTimestamp, "warn fail", "Answer 401"},
		"answers with a page": {&application{answer: func(w http.ResponseWriter, _ event) bool {
			_, _ = w.Write([]byte("<!doctype html><title>Shop</title>"))
			return true
		}}, scenario.Journey, "warn warn warn", "HTML page"},
	} {
		t.Run(name, func(t *testing.T) {
			results := run(t, runner(t, c.app), c.scenario)
			if got := verdicts(results); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			i := slices.IndexFunc(results, func(r diagnose.Result) bool { return r.Verdict != diagnose.Pass })
			if do := results[i].Do; len(do) == 0 || !strings.Contains(do[0], c.do) {
				t.Errorf("what to do: %q, want %q", do, c.do)
			}
		})
	}
}

// TestARightPostThatIsRefused: it shows that the refusals before it had another reason.
func TestARightPostThatIsRefused(t *testing.T) {
	n := 0
	a := &application{answer: func(w http.ResponseWriter, e event) bool {
		if n++; n > 1 {
			w.WriteHeader(409)
		}
		return true
	}}
	results := run(t, runner(t, a), scenario.WrongSignature)
	if last := results[4]; verdicts(results) != "pass pass pass pass fail" || !strings.Contains(last.Do[0], "the refusals before it show nothing") {
		t.Errorf("%s, %q", verdicts(results), last.Do)
	}
}

// TestTranscript: a result contains the request, the signed texts and the answer, and never the
// secret.
func TestTranscript(t *testing.T) {
	a := &application{}
	results := run(t, runner(t, a), scenario.WrongSignature)
	first, unsigned, forged := results[0], results[1], results[2]
	if !strings.HasPrefix(first.Sent, "POST /hook HTTP/1.1\nHost: ") || !strings.HasSuffix(first.Sent, "\n\n"+a.posts[0].Body) || !strings.HasPrefix(first.Answer, "200 OK\n") {
		t.Errorf("sent\n%s\nanswered\n%s", first.Sent, first.Answer)
	}
	stamp := fmt.Sprint(noon.UnixMilli())
	if len(first.Signed) != 2 || first.Signed[0].Text != stamp+a.posts[0].Body || !strings.Contains(first.Sent, "\nX-Acme-Signature: "+sign(first.Signed[0].Text)+"\n") {
		t.Errorf("signed: %+v\n%s", first.Signed, first.Sent)
	}
	if len(unsigned.Signed) != 0 || strings.Contains(strings.ToLower(unsigned.Sent), "signature") {
		t.Errorf("without a signature: %+v\n%s", unsigned.Signed, unsigned.Sent)
	}
	if strings.Contains(forged.Sent, sign(forged.Signed[0].Text)) {
		t.Errorf("signed with another secret:\n%s", forged.Sent)
	}
	if !first.At.Equal(noon) || first.Took <= 0 {
		t.Errorf("at %s, took %s", first.At, first.Took)
	}
	for _, r := range results {
		if strings.Contains(fmt.Sprintf("%+v", r), ownSecret) {
			t.Errorf("%s shows the secret", r.Title)
		}
	}
}

// TestDuplicateHasTheSameBody: a duplicate has the same body and webhook-id, and the next attempt
// number.
func TestDuplicateHasTheSameBody(t *testing.T) {
	a := &application{}
	run(t, runner(t, a), scenario.Duplicate)
	one, two := a.posts[0], a.posts[1]
	if one.Body != two.Body || one.ID0 != two.ID0 || one.Attempt != 1 || two.Attempt != 2 {
		t.Errorf("%s attempt %d: %s\n%s attempt %d: %s", one.ID0, one.Attempt, one.Body, two.ID0, two.Attempt, two.Body)
	}
}

// TestOwnTiers: events use the partner's own plans.
func TestOwnTiers(t *testing.T) {
	for want, own := range map[string][]scenario.Tier{
		"3 Three>5 Five>3 Three":                     {{Number: 5, Name: "Five"}, {Number: 3, Name: "Three"}, {Number: 9, Name: "Nine"}},
		"4 Four>5 Larger test plan>4 Four":           {{Number: 4, Name: "Four"}},
		"1 Test plan>2 Larger test plan>1 Test plan": nil,
	} {
		a := &application{}
		r := runner(t, a)
		r.Tiers = own
		run(t, r, scenario.Plan)
		var got []string
		for _, e := range a.posts[1:] {
			got = append(got, fmt.Sprintf("%d %s", e.Tier, e.Plan))
		}
		if s := strings.Join(got, ">"); s != want {
			t.Errorf("got %s, want %s", s, want)
		}
	}
}

// TestStrict: a strict application must answer with success.
func TestStrict(t *testing.T) {
	a := &application{answer: func(http.ResponseWriter, event) bool { return true }}
	r := runner(t, a)
	if got := verdicts(run(t, r, scenario.Journey)); got != "pass pass pass" {
		t.Errorf("not strict: %s", got)
	}
	r.Target.Strict = true
	results := run(t, r, scenario.Journey)
	if got := verdicts(results); got != "fail fail fail" || !strings.Contains(results[0].Expected, `"success": true`) {
		t.Errorf("strict: %s, expected %s", got, results[0].Expected)
	}
}

// TestNoAnswerEndsTheRun: all following steps are skipped, also in later scenarios.
func TestNoAnswerEndsTheRun(t *testing.T) {
	r := runner(t, &application{})
	r.Target.URL = "http://127.0.0.1:1/"
	journey, _ := scenario.ByName(scenario.Journey)
	member, _ := scenario.ByName(scenario.UnknownMember)
	results, err := r.Run(t.Context(), journey, member)
	if err != nil || verdicts(results) != "fail skipped skipped skipped skipped" {
		t.Fatalf("%s, %v", verdicts(results), err)
	}
	if first, last := results[0], results[3]; !strings.Contains(first.Text, "refused") || len(first.Do) == 0 || first.Answer != "" || last.Sent != "" || last.Text == "" {
		t.Errorf("%+v\n%+v", first, last)
	}
}

// TestBefore: the caller gets each license before its event is sent, but not for an event that must
// be refused or is old.
func TestBefore(t *testing.T) {
	for name, want := range map[string][]string{
		scenario.Older:          {"inactive", "active", "deactivated"},
		scenario.WrongSignature: {"inactive", "active"},
		scenario.OldTimestamp:   {"inactive"},
		scenario.Slow:           {"inactive", "inactive", "inactive", "inactive", "inactive", "inactive"},
	} {
		a := &application{}
		r := runner(t, a)
		var got []string
		r.Before = func(_ context.Context, l scenario.License) error {
			got = append(got, l.Status)
			if a.mu.Lock(); slices.ContainsFunc(a.posts, func(e event) bool { return e.Key == l.Key && e.Status == l.Status && name == scenario.Older }) {
				t.Errorf("%s: %s was sent before", name, l.Status)
			}
			a.mu.Unlock()
			return nil
		}
		run(t, r, name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCallersErrorEndsTheRun: an error of a callback ends the run before anything else is sent.
func TestCallersErrorEndsTheRun(t *testing.T) {
	broken := errors.New("the database is away")
	journey, _ := scenario.ByName(scenario.Journey)
	a := &application{}
	r := runner(t, a)
	r.Before = func(context.Context, scenario.License) error { return broken }
	if results, err := r.Run(t.Context(), journey); !errors.Is(err, broken) || len(results) != 0 || len(a.posts) != 0 {
		t.Errorf("Before: %v, %d results, %d posts", err, len(results), len(a.posts))
	}
	r.Before, r.After = nil, func(context.Context, diagnose.Result) error { return broken }
	if results, err := r.Run(t.Context(), journey); !errors.Is(err, broken) || len(results) != 1 || len(a.posts) != 1 {
		t.Errorf("After: %v, %d results, %d posts", err, len(results), len(a.posts))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r.After = func(context.Context, diagnose.Result) error { cancel(broken); return nil }
	if results, err := r.Run(ctx, journey); !errors.Is(err, broken) || len(results) != 1 {
		t.Errorf("canceled: %v, %d results", err, len(results))
	}
}

// TestPrivateAddressesAreGuarded: the runner calls only addresses that courier's client may call.
func TestPrivateAddressesAreGuarded(t *testing.T) {
	a := &application{}
	r := runner(t, a)
	r.Client = courier.New(courier.Options{})
	t.Cleanup(r.Client.Close)
	r.Target.URL = strings.Replace(r.Target.URL, "http://", "https://", 1)
	results := run(t, r, scenario.Journey)
	if results[0].Verdict != diagnose.Fail || !strings.Contains(results[0].Text, "not public") || len(a.posts) != 0 {
		t.Errorf("%+v, %d posts", results[0], len(a.posts))
	}
}

func TestWorst(t *testing.T) {
	for want, list := range map[diagnose.Verdict][]diagnose.Verdict{
		"":               nil,
		diagnose.Pass:    {diagnose.Pass, diagnose.Pass},
		diagnose.Warn:    {diagnose.Pass, diagnose.Warn, diagnose.Pass},
		diagnose.Fail:    {diagnose.Fail, diagnose.Skipped, diagnose.Warn},
		diagnose.Skipped: {diagnose.Warn, diagnose.Skipped},
	} {
		if got := diagnose.Worst(list...); got != want {
			t.Errorf("the worst of %v is %s, want %s", list, got, want)
		}
	}
}
