package api

import (
	"net/http"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/scenario"
	"claviger/internal/simulator"
	"claviger/internal/wire"
)

// scenarioAnswer is a scenario with its last verdict on the wire.
type scenarioAnswer struct {
	Scenario string         `json:"scenario"`
	Title    string         `json:"title"`
	About    string         `json:"about"`
	Steps    int            `json:"steps"`
	Last     *verdictAnswer `json:"last,omitempty"`
}

type verdictAnswer struct {
	Verdict diagnose.Verdict `json:"verdict"`
	RunID   int64            `json:"run_id"`
	At      wire.Time        `json:"at"`
}

// runAnswer is a run on the wire. Only the answer for a single run has Steps.
type runAnswer struct {
	RunID      int64            `json:"run_id"`
	Scenario   string           `json:"scenario"`
	State      simulator.State  `json:"state"`
	Verdict    diagnose.Verdict `json:"verdict"`
	Note       string           `json:"note"`
	StepsTotal int              `json:"steps_total"`
	StepsDone  int              `json:"steps_done"`
	URL        string           `json:"url"`
	StartedAt  wire.Time        `json:"started_at"`
	EndedAt    *wire.Time       `json:"ended_at,omitempty"`
	Steps      []stepAnswer     `json:"steps,omitempty"`
}

// stepAnswer is a step of a run on the wire.
type stepAnswer struct {
	Scenario string           `json:"scenario"`
	Step     string           `json:"step"`
	Expected string           `json:"expected"`
	Verdict  diagnose.Verdict `json:"verdict"`
	Text     string           `json:"text"`
	Do       []string         `json:"do,omitempty"`
	Sent     string           `json:"sent"`
	Signed   []wire.Signature `json:"signed,omitempty"`
	Answer   string           `json:"answer"`
	At       wire.Time        `json:"at"`
	TookMS   int64            `json:"took_ms"`
}

func runOf(r simulator.Run) runAnswer {
	out := runAnswer{
		RunID: r.ID, Scenario: r.Scenario, State: r.State, Verdict: r.Verdict, Note: r.Note,
		StepsTotal: r.Steps, StepsDone: r.Done,
		URL: r.URL, StartedAt: wire.Time(r.StartedAt),
	}
	at := wire.Time(r.EndedAt)
	if !r.EndedAt.IsZero() {
		out.EndedAt = &at
	}
	for _, s := range r.Results {
		out.Steps = append(out.Steps, stepOf(s))
	}
	return out
}

func stepOf(s diagnose.Result) stepAnswer {
	out := stepAnswer{
		Scenario: s.Scenario, Step: s.Title, Expected: s.Expected, Verdict: s.Verdict, Text: s.Text, Do: s.Do,
		Sent: s.Sent, Answer: s.Answer, At: wire.Time(s.At), TookMS: s.Took.Milliseconds(),
	}
	for _, text := range s.Signed {
		out.Signed = append(out.Signed, wire.Signature(text))
	}
	return out
}

func (a *API) listScenarios(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	last, err := a.Simulator.Verdicts(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(scenario.All(), func(s scenario.Scenario) scenarioAnswer {
		out := scenarioAnswer{Scenario: s.Name, Title: s.Title, About: s.About, Steps: s.Steps()}
		if v, ok := last[s.Name]; ok {
			out.Last = &verdictAnswer{v.Verdict, v.RunID, wire.Time(v.At)}
		}
		return out
	}))
}

// runScenario takes no members; an empty body and {} are the same.
func (a *API) runScenario(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	if err := decode(w, r, &struct{}{}, nil); err != nil {
		return err
	}
	run, err := a.Simulator.Start(r.Context(), actor(p), p.ID, r.PathValue("scenario"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, runOf(run))
}

func (a *API) listRuns(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	runs, err := a.Simulator.Runs(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(runs, runOf))
}

func (a *API) readRun(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	id, _ := wire.PathID(r, "run_id") // 0 if not a number; no run has it
	run, err := a.Simulator.Get(r.Context(), p.ID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, runOf(run))
}

// testLicense answers for a key of no real license: with the test license, if there is one. It has
// no entity tag, because the revision of the partner's licenses does not cover it.
func (a *API) testLicense(w http.ResponseWriter, r *http.Request, p partner.Partner, unknown error) error {
	l, err := a.Simulator.License(r.Context(), p.ID, r.PathValue("license_key"))
	switch {
	case fault.Is(err, simulator.CodeUnknownTestLicense):
		return unknown
	case err != nil:
		return err
	}
	status, err := event.ParseStatus(l.Status)
	if err != nil {
		return err
	}
	shown := license.License{
		Key:          l.Key,
		RedemptionID: l.RedemptionID,
		Status:       status,
		Tier:         l.Tier,
		CreatedAt:    l.CreatedAt,
		UpdatedAt:    l.UpdatedAt,
	}
	return wire.Append(w, http.StatusOK, func(b []byte) []byte { return a.text.License(b, &shown) })
}

// kindAnswer is a kind of event on the wire.
type kindAnswer struct {
	Event   string         `json:"event"`
	Status  string         `json:"license_status"`
	When    string         `json:"when"`
	Reasons []reasonAnswer `json:"reasons"`
	Sample  string         `json:"sample"`
}

type reasonAnswer struct {
	Reason   event.Reason `json:"reason"`
	Sentence string       `json:"sentence"`
}

func (a *API) listKinds(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var list []kindAnswer
	for _, k := range simulator.Kinds() {
		sample, err := a.Simulator.Sample(r.Context(), p.ID, k)
		if err != nil {
			return err
		}
		out := kindAnswer{Event: k.Event.String(), Status: k.Event.Status().String(), When: k.When, Sample: sample.Body}
		for _, reason := range k.Reasons {
			out.Reasons = append(out.Reasons, reasonAnswer{reason, reason.Sentence()})
		}
		list = append(list, out)
	}
	return wire.JSON(w, http.StatusOK, wire.List(list))
}

// testEvent sends an event of a kind: its sample, or the partner's own body.
func (a *API) testEvent(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		Body *string `json:"body"`
	}
	if err := decode(w, r, &in, nil); err != nil {
		return err
	}
	k, err := simulator.KindOf(r.PathValue("event"))
	if err != nil {
		return err
	}
	if in.Body == nil {
		sample, err := a.Simulator.Sample(r.Context(), p.ID, k)
		if err != nil {
			return err
		}
		in.Body = &sample.Body
	}
	run, err := a.Simulator.Send(r.Context(), actor(p), p.ID, k.Event.String(), *in.Body)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, runOf(run))
}

// verificationAnswer is the result of a signature check.
type verificationAnswer struct {
	Genuine  bool             `json:"genuine"`
	Findings []findingAnswer  `json:"findings"`
	Signed   []wire.Signature `json:"signed"`
}

type findingAnswer struct {
	Part  string `json:"part"`
	State string `json:"state"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
}

// verifySignature names the part of a webhook that does not verify. Nothing is stored.
func (a *API) verifySignature(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		Body       string `json:"body"`
		Base64     bool   `json:"body_is_base64"`
		Headers    string `json:"headers"`
		ReceivedAt string `json:"received_at"`
		Computed   string `json:"computed"`
		Secret     string `json:"secret"`
	}
	if err := decode(w, r, &in, nil); err != nil {
		return err
	}
	v, err := a.Simulator.Verify(r.Context(), p.ID, simulator.Pasted{
		Body: in.Body, Base64: in.Base64, Headers: in.Headers, At: in.ReceivedAt, Computed: in.Computed,
		Secret: in.Secret,
	})
	if err != nil {
		return err
	}
	out := verificationAnswer{Genuine: v.Genuine, Signed: []wire.Signature{}}
	for _, f := range v.Findings {
		out.Findings = append(out.Findings, findingAnswer{string(f.Part), string(f.State), f.Text, f.Do})
	}
	for _, s := range v.Texts(courier.Signer{Brand: p.Brand}) {
		out.Signed = append(out.Signed, wire.Signature(s))
	}
	return wire.JSON(w, http.StatusOK, out)
}
