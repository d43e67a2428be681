package simulator_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/diagnose"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/prune"
	"claviger/internal/scenario"
	"claviger/internal/simulator"
)

// TestRunIsStored: a run is stored with its steps, its verdict and its starter.
func TestRunIsStored(t *testing.T) {
	h := start(t)
	by := h.member(partner.Developer)
	r, err := h.node.Start(t.Context(), by, h.partner.ID, scenario.Journey)
	if err != nil || r.State != simulator.Running || r.Steps != 3 || r.Scenario != scenario.Journey {
		t.Fatalf("%+v, %v", r, err)
	}
	h.node.Wait()
	got := h.get(r.ID)
	if got.State != simulator.Ended || got.Verdict != diagnose.Pass || got.Done != 3 || verdicts(got) != "pass pass pass" || !got.EndedAt.Equal(noon) {
		t.Errorf("%+v", got)
	}
	first := got.Results[0]
	if got.By.ID != by.ID || got.By.Kind != audit.ByUser || len(first.Signed) != 2 || !strings.Contains(first.Sent, `"event":"purchase"`) || first.Answer == "" || !first.At.Equal(noon) {
		t.Errorf("%+v\n%+v", got.By, first)
	}
	entries, _, err := h.Audit.List(t.Context(), audit.Filter{Action: "scenario.run"}, paging.Page{Number: 1, Limit: 10})
	if err != nil || len(entries) != 1 || entries[0].Actor.ID != by.ID || entries[0].After != `{"scenario":"journey"}` {
		t.Errorf("audit: %+v, %v", entries, err)
	}
	for _, table := range []string{"licenses", "events", "deliveries", "outbox"} {
		if n := h.rows(table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
}

// TestEveryScenarioAtOnce: a run of all scenarios has a verdict for each, and its own.
func TestEveryScenarioAtOnce(t *testing.T) {
	h := start(t)
	r := h.run(simulator.All)
	if r.State != simulator.Ended || r.Done != r.Steps || r.Verdict != diagnose.Fail {
		t.Fatalf("%+v", r)
	}
	all, err := h.node.Verdicts(t.Context(), h.partner.ID)
	if err != nil || len(all) != len(scenario.All())+1 {
		t.Fatalf("%d verdicts, %v", len(all), err)
	}
	// The endpoint accepts everything.
	for name, want := range map[string]diagnose.Verdict{
		simulator.All: diagnose.Fail, scenario.WrongSignature: diagnose.Fail, scenario.OldTimestamp: diagnose.Warn, scenario.Journey: diagnose.Pass,
	} {
		if v := all[name]; v.Verdict != want || v.RunID != r.ID || !v.At.Equal(noon) {
			t.Errorf("%s: %+v, want %s", name, v, want)
		}
	}
}

// TestVerdictOutlastsItsRun: a verdict outlasts its run until the next one replaces it; a skipped
// scenario and a test event do not change it.
func TestVerdictOutlastsItsRun(t *testing.T) {
	h := start(t)
	first := h.run(scenario.UnknownMember)
	for range simulator.MaxRuns + 3 {
		h.pass(2 * time.Minute)
		h.run(scenario.Journey)
	}
	if _, err := h.node.Get(t.Context(), h.partner.ID, first.ID); !fault.Is(err, simulator.CodeUnknownRun) {
		t.Errorf("the oldest run: %v", err)
	}
	list, err := h.node.Runs(t.Context(), h.partner.ID)
	if err != nil || len(list) != simulator.MaxRuns || h.rows("scenario_runs") != simulator.MaxRuns || h.rows("scenario_steps") != 3*simulator.MaxRuns {
		t.Errorf("%d runs, %d steps, %v", h.rows("scenario_runs"), h.rows("scenario_steps"), err)
	}
	all, err := h.node.Verdicts(t.Context(), h.partner.ID)
	if err != nil || all[scenario.UnknownMember].RunID != first.ID || all[scenario.Journey].RunID != list[0].ID {
		t.Errorf("%+v, %v", all, err)
	}
	h.pass(profile.CheckWindow)
	if r, err := h.node.Send(t.Context(), apptest.Tester, h.partner.ID, "purchase", `{}`); err != nil || r.Scenario != simulator.Event {
		t.Fatal(err)
	}
	h.node.Wait()
	h.Exec(`UPDATE profiles SET webhook_url = 'http://127.0.0.1:1/'`)
	h.run(simulator.All)
	if all, err = h.node.Verdicts(t.Context(), h.partner.ID); err != nil || len(all) != 3 ||
		all[scenario.UnknownMember].RunID != first.ID || all[scenario.Journey].Verdict != diagnose.Fail {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestEventIDsRise: event ids rise from run to run, even if the clock stands still.
func TestEventIDsRise(t *testing.T) {
	h := start(t)
	h.run(scenario.Journey)
	h.run(scenario.Journey)
	for i, body := range h.endpoint.posts {
		if want := fmt.Sprintf(`"event_id":%d,`, noon.Unix()+int64(i)); !strings.Contains(body, want) {
			t.Errorf("post %d: %s, want %s", i, body, want)
		}
	}
	keys := h.endpoint.keys()
	if keys[0] == keys[3] || keys[0] != keys[2] {
		t.Errorf("licenses of two runs: %v", keys)
	}
}

// TestToTheSavedURLOnly: runs go only to the saved URL; without one there is no run.
func TestToTheSavedURLOnly(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Reef", profile.URLs{})
	if _, err := h.node.Start(t.Context(), apptest.Tester, other.ID, scenario.Journey); !fault.Is(err, simulator.CodeNoWebhookURL) {
		t.Errorf("no URL: %v", err)
	}
	if _, err := h.node.Start(t.Context(), apptest.Tester, 12345, scenario.Journey); !fault.Is(err, partner.CodeUnknownPartner) {
		t.Errorf("no partner: %v", err)
	}
	if _, err := h.node.Start(t.Context(), apptest.Tester, h.partner.ID, "nothing"); !fault.Is(err, simulator.CodeUnknownScenario) {
		t.Errorf("no scenario: %v", err)
	}
	r := h.run(scenario.Journey)
	if _, err := h.node.Get(t.Context(), other.ID, r.ID); !fault.Is(err, simulator.CodeUnknownRun) {
		t.Errorf("the run of another partner: %v", err)
	}
	if list, err := h.node.Runs(t.Context(), other.ID); err != nil || len(list) != 0 {
		t.Errorf("the runs of another partner: %v, %v", list, err)
	}
}

// TestOneRunAtATime: a partner has one run at a time, and as many as checks of URLs.
func TestOneRunAtATime(t *testing.T) {
	h := start(t)
	came, free := make(chan struct{}, 10), make(chan struct{})
	h.endpoint.answer = func(_ http.ResponseWriter, n int, _ string) {
		if n == 1 {
			came <- struct{}{}
			<-free
		}
	}
	r, err := h.node.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.UnknownMember)
	h.Must(err)
	<-came
	if got := h.get(r.ID); got.State != simulator.Running || got.Done != 0 || got.Verdict != "" {
		t.Errorf("under way: %+v", got)
	}
	for _, node := range []*simulator.Simulator{h.node, h.newNode(t)} {
		if _, err := node.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.Journey); !fault.Is(err, "check_running") {
			t.Errorf("beside it: %v", err)
		}
		if _, err := node.Send(t.Context(), apptest.Tester, h.partner.ID, "purchase", `{}`); !fault.Is(err, "check_running") {
			t.Errorf("an event beside it: %v", err)
		}
	}
	url := "http://127.0.0.1:1/"
	if _, _, _, err := h.node.Profiles.SetURLs(t.Context(), apptest.Tester, h.partner.ID, profile.URLChange{Webhook: &url}); !fault.Is(err, "check_running") {
		t.Errorf("a check beside it: %v", err)
	}
	close(free)
	h.node.Wait()
	for range profile.MaxChecks - 1 {
		h.run(scenario.UnknownMember)
	}
	for _, act := range []func() (simulator.Run, error){
		func() (simulator.Run, error) {
			return h.node.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.Journey)
		},
		func() (simulator.Run, error) {
			return h.node.Send(t.Context(), apptest.Tester, h.partner.ID, "purchase", `{}`)
		},
	} {
		if _, err := act(); !fault.Is(err, "too_many_checks") {
			t.Errorf("one more: %v", err)
		}
	}
	if n := h.endpoint.count(); n != 2*profile.MaxChecks {
		t.Errorf("%d posts", n)
	}
}

// TestStoppedNode: a run on a node that stops is interrupted immediately, with a note.
func TestStoppedNode(t *testing.T) {
	h := start(t)
	other := h.newNode(t)
	stop := h.serve(t, other)
	came := make(chan struct{}, 10)
	h.endpoint.answer = func(_ http.ResponseWriter, n int, _ string) {
		if came <- struct{}{}; n == 2 {
			stop()
		}
	}
	r, err := other.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.Journey)
	h.Must(err)
	<-came
	<-came
	stop()
	got := h.get(r.ID)
	if got.State != simulator.Interrupted || !strings.Contains(got.Note, "stopped") || got.Done != 1 || got.Verdict != diagnose.Pass || got.EndedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if _, err := other.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.Journey); !unavailable(err) {
		t.Errorf("on a stopped node: %v", err)
	}
	if list, err := h.node.Runs(t.Context(), h.partner.ID); err != nil || len(list) != 2 || list[0].State != simulator.Interrupted {
		t.Errorf("the run that did not begin: %+v, %v", list, err)
	}
	h.endpoint.answer = nil
	if r := h.run(scenario.Journey); r.State != simulator.Ended { // the claim was released
		t.Errorf("afterwards: %+v", r)
	}
}

// TestDeadNode: a run on a crashed node is shown as interrupted, and does not block others.
func TestDeadNode(t *testing.T) {
	h := start(t)
	r := h.run(scenario.Journey)
	h.Exec(`UPDATE scenario_runs SET state = 'running', ended_at = 0, done = 2`) // crashed before the last step
	if got := h.get(r.ID); got.State != simulator.Running {
		t.Errorf("at once: %+v", got)
	}
	h.pass(time.Minute)
	got := h.get(r.ID)
	if got.State != simulator.Interrupted || got.Note == "" || got.EndedAt.IsZero() {
		t.Errorf("later: %+v", got)
	}
	if list, err := h.node.Runs(t.Context(), h.partner.ID); err != nil || list[0].State != simulator.Interrupted {
		t.Errorf("in the list: %+v, %v", list, err)
	}
}

// TestRunsAreLookedAtAgain: each step checks that the starter still has access, that the URL is
// still the saved one, and that the claim is still held.
func TestRunsAreLookedAtAgain(t *testing.T) {
	for name, c := range map[string]struct {
		during func(h *harness, by audit.Actor)
		note   string
	}{
		"another role": {func(h *harness, by audit.Actor) {
			_, err := h.Partners.AddMember(h.Context(), apptest.Tester, h.partner.ID, by.ID, partner.Viewer)
			h.Must(err)
		}, "may no longer"},
		"no member": {func(h *harness, by audit.Actor) { h.Exec(`DELETE FROM members`) }, "may no longer"},
		"another URL": {func(h *harness, _ audit.Actor) {
			url := "http://127.0.0.1:1/"
			_, _, _, err := h.node.Profiles.Amend(h.Context(), apptest.Tester, h.partner.ID, partner.Change{}, profile.URLChange{Webhook: &url}, false)
			h.Must(err)
		}, "URL was changed"},
		"a lost claim": {func(h *harness, _ audit.Actor) { h.Exec(`UPDATE profiles SET check_until = 5`) }, "too slow"},
		"members that cannot be read": {func(h *harness, _ audit.Actor) {
			h.Exec(`ALTER TABLE members RENAME TO kept`)
		}, "internal error"},
		"a lost run": {func(h *harness, _ audit.Actor) { h.Exec(`UPDATE scenario_runs SET state = 'interrupted'`) }, "too slow"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			by := h.member(partner.Developer)
			h.endpoint.answer = func(_ http.ResponseWriter, n int, _ string) {
				if n == 1 {
					c.during(h, by)
				}
			}
			r, err := h.node.Start(t.Context(), by, h.partner.ID, scenario.Journey)
			h.Must(err)
			h.node.Wait()
			if got := h.get(r.ID); got.State != simulator.Interrupted || !strings.Contains(got.Note, c.note) {
				t.Errorf("%+v", got)
			}
			if n := h.endpoint.count(); n != 1 {
				t.Errorf("%d posts", n)
			}
		})
	}
}

// TestRemovedPartner: removing a partner deletes its runs and test licenses, including a running
// one.
func TestRemovedPartner(t *testing.T) {
	h := start(t)
	h.run(scenario.Journey)
	h.endpoint.answer = func(_ http.ResponseWriter, n int, _ string) {
		if n == 4 {
			h.Must(h.Profiles.Remove(h.Context(), apptest.Tester, h.partner.ID))
		}
	}
	_, err := h.node.Start(t.Context(), apptest.Tester, h.partner.ID, scenario.Journey)
	h.Must(err)
	h.node.Wait()
	for _, table := range []string{"scenario_runs", "scenario_steps", "scenario_verdicts", "test_licenses"} {
		if n := h.rows(table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if n := h.endpoint.count(); n != 4 {
		t.Errorf("%d posts", n)
	}
}

// TestTestLicenses: the partner can read test licenses on every node, as the event leaves them,
// before it arrives, and for an hour.
func TestTestLicenses(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Reef", profile.URLs{})
	second := h.newNode(t)
	var seen []string
	h.endpoint.answer = func(_ http.ResponseWriter, _ int, body string) {
		key := strings.Split(body, `"`)[3]
		l, err := second.License(t.Context(), h.partner.ID, key)
		if err != nil {
			t.Error(err)
		}
		if _, err := second.License(t.Context(), other.ID, key); !fault.Is(err, simulator.CodeUnknownTestLicense) {
			t.Errorf("of another partner: %v", err)
		}
		seen = append(seen, fmt.Sprintf("%s %d", l.Status, l.Tier))
	}
	h.run(scenario.Plan)
	if want := []string{"inactive 1", "active 1", "active 2", "active 1"}; !slices.Equal(seen, want) {
		t.Errorf("seen: %v, want %v", seen, want)
	}
	key := h.endpoint.keys()[0]
	h.pass(simulator.LicenseKept - time.Second)
	if l, err := h.node.License(t.Context(), h.partner.ID, key); err != nil || l.RedemptionID == "" || l.RedemptionID == key || !l.CreatedAt.Equal(noon) || !l.UpdatedAt.After(noon) {
		t.Errorf("%+v, %v", l, err)
	}
	h.pass(time.Second)
	if _, err := h.node.License(t.Context(), h.partner.ID, key); !fault.Is(err, simulator.CodeUnknownTestLicense) {
		t.Errorf("after an hour: %v", err)
	}
	h.pass(time.Microsecond) // rows expire after the last moment, and not with it
	if n, err := prune.Rows(t.Context(), h.DB, h.clock(), simulator.Expiring(24*time.Hour)); err != nil || n != 1 || h.rows("test_licenses") != 0 || h.rows("scenario_runs") != 1 {
		t.Errorf("pruned %d, %v", n, err)
	}
	h.pass(24 * time.Hour)
	if n, err := prune.Rows(t.Context(), h.DB, h.clock(), simulator.Expiring(24*time.Hour)); err != nil || n != 1 || h.rows("scenario_runs") != 0 || h.rows("scenario_steps") != 0 {
		t.Errorf("pruned %d, %v", n, err)
	}
}

// TestTestLicensesAreBounded: the number per partner is limited; the oldest are deleted.
func TestTestLicensesAreBounded(t *testing.T) {
	h := start(t)
	other, _ := h.Partner("Reef", profile.URLs{})
	for i := range simulator.MaxTestLicenses {
		for _, id := range []int64{h.partner.ID, other.ID} {
			h.Exec(`INSERT INTO test_licenses (partner_id, license_key, redemption_id, status, tier, created_at, updated_at, expires_at) VALUES ($1, $2, '', '', 1, 0, 0, $3)`,
				id, fmt.Sprint(i), int64(i+1))
		}
	}
	h.run(scenario.UnknownMember)
	if n := h.Count(`SELECT count(*) FROM test_licenses WHERE partner_id = $1`, h.partner.ID); n != simulator.MaxTestLicenses {
		t.Errorf("%d test licenses", n)
	}
	if n := h.Count(`SELECT count(*) FROM test_licenses WHERE license_key = '0'`); n != 1 || h.rows("test_licenses") != 2*simulator.MaxTestLicenses {
		t.Errorf("the oldest: %d; all: %d", n, h.rows("test_licenses"))
	}
}

// TestSend: one event with the user's own body is sent as a test, even if the body says otherwise.
func TestSend(t *testing.T) {
	h := start(t)
	if _, err := h.node.Send(t.Context(), apptest.Tester, h.partner.ID, "activate", `{"a":`); fault.Of(err) == nil || fault.Of(err).Field != "body" {
		t.Errorf("no JSON: %v", err)
	}
	r, err := h.node.Send(t.Context(), apptest.Tester, h.partner.ID, "activate", `{"event_id":42,"test":false}`)
	h.Must(err)
	h.node.Wait()
	got := h.get(r.ID)
	if verdicts(got) != "pass" || h.endpoint.posts[0] != `{"event_id":42,"test":true}` || !strings.Contains(got.Results[0].Sent, fmt.Sprintf("webhook-id: evt_%d\n", noon.Unix())) {
		t.Errorf("%+v\n%v", got, h.endpoint.posts)
	}
}

// unavailable reports whether an error means that another node can do it.
func unavailable(err error) bool {
	var e interface{ Unavailable() bool }
	return errors.As(err, &e) && e.Unavailable()
}
