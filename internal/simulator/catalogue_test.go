package simulator_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/diagnose/verify"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/simulator"
)

// sold is a partner with an event, and the headers of its webhook.
type sold struct {
	*apptest.Harness
	partner, other partner.Partner
	real           simulator.Real
	headers        string
}

func sell(t *testing.T) *sold {
	t.Helper()
	s := &sold{Harness: apptest.New(t)}
	var credentials partner.Credentials
	s.partner, credentials = s.Partner("Tide", profile.URLs{})
	s.other, _ = s.Partner("Reef", profile.URLs{})
	s.Plans(s.partner.ID, 2, partner.Plan{PriceCents: 1000, Currency: "USD"})
	s.Buy(license.Purchase{PartnerID: s.partner.ID, Tier: 2, BuyerID: s.User("ann@tide.example").ID, Currency: "USD"})
	s.real = s.last(s.partner, event.Purchase)
	signed := courier.Signer{Brand: s.partner.Brand}.Headers(s.real.ID, 1, s.Simulator.Now(),
		courier.NewSecrets(credentials.WebhookSecret), []byte(s.real.Body))
	s.headers = lines(signed)
	return s
}

func lines(h http.Header) string {
	var b strings.Builder
	for name, values := range h {
		fmt.Fprintf(&b, "%s: %s\n", name, values[0])
	}
	return b.String()
}

// last returns a partner's newest event of a kind.
func (s *sold) last(p partner.Partner, kind event.Kind) simulator.Real {
	s.Helper()
	k, err := simulator.KindOf(kind.String())
	s.Must(err)
	last, err := s.Simulator.LastReal(s.Context(), p.ID, k)
	s.Must(err)
	return last
}

// TestVerifyPasted: a webhook is genuine only with a secret of the requesting partner, and only
// that partner learns the bytes that were sent.
func TestVerifyPasted(t *testing.T) {
	s := sell(t)
	changed := strings.Replace(s.real.Body, `"tier":2`, `"tier":3`, 1)
	encoded := base64.StdEncoding.EncodeToString([]byte(s.real.Body))
	for name, c := range map[string]struct {
		by      partner.Partner
		body    string
		base64  bool
		genuine bool
		bytes   verify.State
	}{
		"as it was sent":                 {s.partner, s.real.Body, false, true, verify.Right},
		"in base64, with a line break":   {s.partner, encoded[:9] + "\n" + encoded[9:], true, true, verify.Right},
		"changed":                        {s.partner, changed, false, false, verify.Wrong},
		"by another partner":             {s.other, s.real.Body, false, false, verify.Unclear},
		"by another partner and changed": {s.other, changed, false, false, verify.Unclear},
	} {
		v, err := s.Simulator.Verify(t.Context(), c.by.ID, simulator.Pasted{Body: c.body, Base64: c.base64, Headers: s.headers})
		if err != nil || v.Genuine != c.genuine {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		for _, f := range v.Findings {
			if f.Part == verify.PartBytes && f.State != c.bytes {
				t.Errorf("%s: the bytes are %s: %s", name, f.State, f.Text)
			}
		}
	}
	v, err := s.Simulator.Verify(t.Context(), s.partner.ID, simulator.Pasted{Body: s.real.Body, Headers: "Webhook-Id: evt_0"})
	if err != nil || v.Genuine {
		t.Errorf("without an event: %+v, %v", v, err)
	}
	if _, err := s.Simulator.Verify(t.Context(), s.other.ID+1000, simulator.Pasted{Headers: s.headers}); !fault.Is(err, partner.CodeUnknownPartner) {
		t.Errorf("of an unknown partner: %v", err)
	}
}

// TestPastedIsBounded: Verify signs the pasted text in many ways, so long texts would be costly.
func TestPastedIsBounded(t *testing.T) {
	s := sell(t)
	long, line := strings.Repeat("a", verify.MaxPasted), strings.Repeat("1", 500)
	for name, c := range map[string]struct {
		change func(p *simulator.Pasted)
		field  string
	}{
		"the longest body":       {func(p *simulator.Pasted) { p.Body = long }, ""},
		"a longer body":          {func(p *simulator.Pasted) { p.Body = long + "a" }, "body"},
		"the longest headers":    {func(p *simulator.Pasted) { p.Headers = long }, ""},
		"longer headers":         {func(p *simulator.Pasted) { p.Headers = long + "a" }, "headers"},
		"no headers":             {func(p *simulator.Pasted) { p.Headers = " \n" }, "headers"},
		"the longest secret":     {func(p *simulator.Pasted) { p.Secret = line }, ""},
		"a longer secret":        {func(p *simulator.Pasted) { p.Secret = line + "1" }, "secret"},
		"the longest signature":  {func(p *simulator.Pasted) { p.Computed = line }, ""},
		"a longer signature":     {func(p *simulator.Pasted) { p.Computed = line + "1" }, "computed"},
		"a longer time":          {func(p *simulator.Pasted) { p.At = line + "1" }, "received_at"},
		"a time":                 {func(p *simulator.Pasted) { p.At = "2026-11-15T09:30:00Z" }, ""},
		"no time":                {func(p *simulator.Pasted) { p.At = "yesterday" }, "received_at"},
		"a body that is no code": {func(p *simulator.Pasted) { p.Body, p.Base64 = "{}", true }, "body"},
	} {
		p := simulator.Pasted{Body: s.real.Body, Headers: s.headers}
		c.change(&p)
		_, err := s.Simulator.Verify(t.Context(), s.partner.ID, p)
		if f := fault.Of(err); (f == nil) != (c.field == "") || f != nil && f.Field != c.field || f == nil && err != nil {
			t.Errorf("%s: %v, want a fault of %q", name, err, c.field)
		}
	}
}

// TestLastReal: LastReal returns the partner's own event of that kind.
func TestLastReal(t *testing.T) {
	s := sell(t)
	if s.real.ID == 0 || !strings.Contains(s.real.Body, fmt.Sprintf(`"event_id":%d,`, s.real.ID)) {
		t.Errorf("%+v", s.real)
	}
	if got := s.last(s.partner, event.Activate); got.ID != 0 {
		t.Errorf("of another kind: %+v", got)
	}
	if got := s.last(s.other, event.Purchase); got.ID != 0 {
		t.Errorf("of another partner: %+v", got)
	}
	if _, err := simulator.KindOf("sale"); !fault.Is(err, simulator.CodeUnknownEventKind) {
		t.Errorf("a kind that does not exist: %v", err)
	}
}

// TestSample: a sample has the partner's lowest tier and is marked as a test, so that a server
// stores nothing.
func TestSample(t *testing.T) {
	s := sell(t)
	for name, c := range map[string]struct {
		partner partner.Partner
		kind    event.Kind
		tier    int
		plan    string
	}{
		"first kind":    {s.partner, event.Purchase, 1, "Tier 1"},
		"last kind":     {s.partner, event.Deactivate, 1, "Tier 1"},
		"without plans": {s.other, event.Activate, 1, diagnose.TestPlan},
	} {
		k, err := simulator.KindOf(c.kind.String())
		s.Must(err)
		sample, err := s.Simulator.Sample(t.Context(), c.partner.ID, k)
		s.Must(err)
		var body struct {
			Event string `json:"event"`
			Tier  int    `json:"tier"`
			Plan  string `json:"partner_plan_name"`
			Test  bool   `json:"test"`
			ID    int64  `json:"event_id"`
		}
		s.Must(json.Unmarshal([]byte(sample.Body), &body))
		if body.Event != c.kind.String() || body.Tier != c.tier || body.Plan != c.plan || !body.Test || body.ID != sample.EventID {
			t.Errorf("%s: %s", name, sample.Body)
		}
	}
	if _, err := s.Simulator.Sample(t.Context(), s.other.ID+1000, simulator.Kinds()[0]); !fault.Is(err, partner.CodeUnknownPartner) {
		t.Errorf("of an unknown partner: %v", err)
	}
}
