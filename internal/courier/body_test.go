package courier_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"claviger/internal/courier"
)

// payload is the body of a webhook as encoding/json writes it.
type payload struct {
	LicenseKey     string `json:"license_key"`
	Event          string `json:"event"`
	LicenseStatus  string `json:"license_status"`
	EventTimestamp int64  `json:"event_timestamp"`
	EventID        int64  `json:"event_id"`
	Tier           int    `json:"tier"`
	Reason         string `json:"reason"`
	Test           bool   `json:"test"`
	CreatedAt      int64  `json:"created_at"`
	Extra          struct {
		Reason string `json:"reason"`
	} `json:"extra"`
	PreviousTier int    `json:"previous_tier,omitempty"`
	PlanName     string `json:"partner_plan_name"`
}

func TestBody(t *testing.T) {
	e := courier.Event{
		LicenseKey: "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", Kind: "activate", Status: "active", At: time.UnixMilli(1772625600123), EventID: 42,
		Tier: 2, PreviousTier: 1, Reason: "plan_changed", Sentence: "Fish & <chips>, “naïve” 東京 \"\\/\u2028", CreatedAt: time.UnixMilli(1772625600456),
		PlanName: "Team “Größe” & more",
	}
	const want = `{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11","event":"activate","license_status":"active","event_timestamp":1772625600123,` +
		`"event_id":42,"tier":2,"reason":"plan_changed","test":false,"created_at":1772625600456,` +
		`"extra":{"reason":"Fish & <chips>, “naïve” 東京 \"\\/\u2028"},"previous_tier":1,"partner_plan_name":"Team “Größe” & more"}`
	if got := string(courier.Body(e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e.PreviousTier, e.Test, e.PlanName = 0, true, ""
	got := string(courier.Body(e))
	if strings.Contains(got, "previous_tier") || !strings.Contains(got, `,"test":true,`) || !strings.HasSuffix(got, `"},"partner_plan_name":""}`) {
		t.Errorf("a test that changed no tier: %s", got)
	}
}

// TestBodyIsJSON compares the body with the output of encoding/json.
func TestBodyIsJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringOf(rapid.SampledFrom([]rune("\"\\/&<>'\b\f\n\r\t\x00\x1f\x7f\u0080\u2028\u2029\ufffd"))))
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 1<<42)
		e := courier.Event{
			LicenseKey: text.Draw(t, "key"), Kind: text.Draw(t, "kind"), Status: text.Draw(t, "status"), At: time.UnixMilli(at.Draw(t, "at")),
			EventID: rapid.Int64().Draw(t, "id"), Tier: rapid.Int().Draw(t, "tier"), PreviousTier: rapid.Int().Draw(t, "previous"),
			Reason: text.Draw(t, "reason"), Sentence: text.Draw(t, "sentence"), Test: rapid.Bool().Draw(t, "test"), CreatedAt: time.UnixMilli(at.Draw(t, "created")),
			PlanName: text.Draw(t, "plan"),
		}
		p := payload{
			LicenseKey: e.LicenseKey, Event: e.Kind, LicenseStatus: e.Status, EventTimestamp: e.At.UnixMilli(), EventID: e.EventID, Tier: e.Tier,
			Reason: e.Reason, Test: e.Test, CreatedAt: e.CreatedAt.UnixMilli(), PreviousTier: e.PreviousTier,
			PlanName: e.PlanName,
		}
		p.Extra.Reason = e.Sentence
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p); err != nil {
			t.Fatal(err)
		}
		if got := string(courier.Body(e)) + "\n"; got != want.String() {
			t.Errorf("got  %swant %s", got, want.String())
		}
	})
}
